// SPDX-License-Identifier: LGPL-2.1-or-later
/* apart.c: functions that are traced have functions between them that are not. It waits for a line
 * of input: meanwhile a tracer attaches. Then it works, is interrupted by a signal in code that is
 * not traced, and works again. Argument: "grows": it does so in a function whose frame grows at run
 * time, and again after; "alt": the handler has a stack of its own; or both in one word. */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define FN __attribute__((noipa))

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
	leaf(sig);
}

FN static int works(int rounds)
{
	int sum = 0;
	for (int i = 0; i < rounds; i++)
		sum += middle(i);
	return sum;
}

FN static int session(int rounds)
{
	char line[16];
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	int sum = works(rounds);
	for (int i = 0; i < 2; i++) {
		raise(SIGUSR1);
		sum += works(rounds);
	}
	return sum;
}

FN static int grows(int bytes, int rounds)
{
	char *room = alloca(bytes);
	memset(room, 1, bytes);
	int sum = session(rounds) + works(room[bytes - 1]);
	raise(SIGUSR1);
	return sum + works(room[0]);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	static char stack[1 << 16];
	struct sigaction action = {.sa_handler = handler};
	if (strstr(how, "alt")) {
		stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
		sigaltstack(&alt, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &action, NULL);
	return (strstr(how, "grows") ? grows(100 * argc, 3) : session(3)) < 0;
}
