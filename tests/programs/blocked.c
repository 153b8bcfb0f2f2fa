// SPDX-License-Identifier: LGPL-2.1-or-later
/* blocked.c: waits, deep inside, until a signal comes: that is the first that a tracer sees of it
 * which has attached meanwhile. Argument: where it waits. With -DLIBRARY the library, which is not
 * traced. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void lib_handler(int sig);
int lib_calls(int (*f)(int), int i);
int lib_forks(int (*f)(int), int i);
extern int (*lib_called)(int);

#ifdef LIBRARY
int (*lib_called)(int);

void lib_handler(int sig)
{
	lib_called(sig);
}

int lib_calls(int (*f)(int), int i)
{
	return f(i) + 1;
}

int lib_forks(int (*f)(int), int i)
{
	int status;
	pause();
	pid_t pid = fork();
	if (!pid)
		_exit(f(i));
	return waitpid(pid, &status, 0) == pid ? status : 0;
}
#else
#define FN __attribute__((noipa))

static volatile int came, twice = 2, awaited = 1;

FN static int leaf(int i)
{
	return i + 1;
}

FN static int middle(int i)
{
	return leaf(i) + leaf(i + 1);
}

FN static void handler(int sig)
{
	int i = middle(sig);

	if (!--awaited)
		came = i;
}

FN static int called(int i)
{
	return came = leaf(i);
}

FN static int waits(int i)
{
	if (pause())
		i++;
	return leaf(i);
}

/* It is interrupted in code of its own, between two calls. */
FN static int spins(int i)
{
	i = leaf(i);
	while (!came)
		i++;
	return middle(i) + i;
}

/* The same, before a call that is one of several which may come next, by two decisions: neither has
 * all that the other one has. */
FN static int rounds(int i)
{
	for (int a = 0; a < twice; a++) {
		for (int b = 0; b < twice; b++) {
			while (!came)
				i++;
			i = leaf(i);
		}
		i = middle(i);
	}
	return i;
}

FN static int dive(int depth, int (*f)(int), int i)
{
	return depth ? dive(depth - 1, f, i) + leaf(depth) : f(i);
}

FN static int (*choose(const char *how))(int)
{
	return strstr(how, "spin") ? spins : strstr(how, "rounds") ? rounds : waits;
}

FN static int begin(const char *how, int (*f)(int))
{
	int i = leaf(0);
	if (strstr(how, "fork"))
		return lib_forks(called, i);
	if (strstr(how, "callback"))
		return lib_calls(f, i) + leaf(i);
	if (strstr(how, "deep"))
		return dive(100000, f, i) + leaf(i);
	return f(i) + leaf(i);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "pause";
	static char stack[1 << 16];
	struct sigaction action = {.sa_handler = strstr(how, "foreign") ? lib_handler : handler};
	lib_called = called;
	if (strstr(how, "again")) /* a second signal, before anything else is told of it */
		awaited = 2;
	if (strstr(how, "alt")) {
		stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
		sigaltstack(&alt, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	if (!strstr(how, "default"))
		sigaction(SIGUSR1, &action, NULL);
	puts("ready");
	fflush(stdout);
	return begin(how, choose(how)) < 0;
}
#endif
