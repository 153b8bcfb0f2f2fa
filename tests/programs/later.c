// SPDX-License-Identifier: LGPL-2.1-or-later
/* later.c: a program that goes in rounds and loads a library, its first argument: after 500 of
 * them, or, if there is a second argument, when SIGUSR1 comes. From then on round i calls the
 * library i % 5 times over, which calls back as often. Built with -DLIBRARY it is the library. Ends
 * by SIGTERM, well; after 60 s in any case. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

extern int called_back(int n);

#ifdef LIBRARY
static volatile int steps;

static NOINLINE int one_step(int n)
{
	steps++;
	return called_back(n) + 1;
}

NOINLINE int all_steps(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += one_step(i);
	return sum;
}
#else
static volatile sig_atomic_t ended, asked;
static volatile int calls;

static void take(int signal)
{
	if (signal == SIGUSR1)
		asked = 1;
	else
		ended = 1;
}

NOINLINE int called_back(int n)
{
	calls++;
	return n;
}

static NOINLINE int one_round(int (*work)(int), int i)
{
	int sum = work ? work(i % 5) : calls;
	usleep(500);
	return sum;
}

int main(int argc, char **argv)
{
	int (*work)(int) = NULL;
	int sum = 0;
	signal(SIGTERM, take);
	signal(SIGUSR1, take);
	alarm(60);
	for (int i = 0; !ended; i++) {
		if (argc > 1 && !work && (argc > 2 ? asked : i == 500)) {
			void *library = dlopen(argv[1], RTLD_NOW);
			if (library)
				work = (int (*)(int))dlsym(library, "all_steps");
			if (!work)
				return puts(dlerror()), 1;
		}
		sum += one_round(work, i);
	}
	return sum == 0;
}
#endif
