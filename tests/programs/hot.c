// SPDX-License-Identifier: LGPL-2.1-or-later
/* hot.c: one function that is called all the time, others that are called now and then, and for
 * each half second of its own processor time a line that says how many rounds there were. Until
 * SIGTERM. Another thread sleeps all the time. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile sig_atomic_t stop;
static volatile unsigned sink;

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

NOINLINE static void hot(unsigned n)
{
	if (n & 1)
		sink += n;
	else
		sink ^= n;
}

NOINLINE static void work(void)
{
	for (unsigned i = 0; i < 2000000; i++)
		sink += i;
}

NOINLINE static void warm(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		hot(i);
}

NOINLINE static void one_round(void)
{
	work();
	warm(20000);
}

static void *sleeper(void *arg)
{
	while (!stop)
		pause();
	return arg;
}

int main(void)
{
	pthread_t thread;
	const clock_t half = CLOCKS_PER_SEC / 2;
	clock_t last = clock() / half;
	unsigned long rounds = 0, before = 0;
	signal(SIGTERM, on_term);
	if (pthread_create(&thread, NULL, sleeper, NULL))
		return 1;
	while (!stop) {
		one_round();
		rounds++;
		if (clock() / half != last) {
			last = clock() / half;
			printf("%lu\n", rounds - before);
			fflush(stdout);
			before = rounds;
		}
	}
	return 0;
}
