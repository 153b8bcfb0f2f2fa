// SPDX-License-Identifier: LGPL-2.1-or-later
/* later.c: a program that loads a library (its argument) half a second after its start, and then
 * goes in rounds: round i calls the library i % 5 times over, which calls back as often. Built with
 * -DLIBRARY it is the library. Ends by SIGTERM, well; after 20 s in any case. */
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
static volatile sig_atomic_t ended;
static volatile int calls;

static void end(int signal)
{
	(void)signal;
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
	signal(SIGTERM, end);
	alarm(20);
	for (int i = 0; !ended; i++) {
		if (i == 500 && argc > 1) {
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
