// SPDX-License-Identifier: LGPL-2.1-or-later
/* crowd.c: 64 threads that call one another's functions all the time, under a timer, until SIGTERM;
 * each compares what it computes with what it computed at first. Prints how many rounds there were
 * and how many were wrong; status 1 if one was. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#define FN __attribute__((noipa))
enum { THREADS = 64 };

static volatile sig_atomic_t stop, ticks;
static long rounds[THREADS], wrong[THREADS];

FN static long leaf(long x)
{
	return x * 3 + 1;
}
FN static long other(long x)
{
	return x ^ (x >> 3);
}
static long (*volatile by_pointer[])(long) = {leaf, other};
FN static long middle(long x)
{
	long r = 0;

	for (int i = 0; i < 3; i++)
		r += by_pointer[(x + i) & 1](x + i);
	switch (x % 7) {
	case 0:
		return leaf(r);
	case 1:
		return other(r) + leaf(1);
	case 2:
		r ^= other(2);
		break;
	}
	return x & 1 ? r + leaf(r) : r;
}
FN static long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
FN static long round_once(void)
{
	long r = fib(8);

	for (long i = 0; i < 40; i++)
		r += middle(i);
	return r;
}
FN static void tick(int n)
{
	ticks += n;
}
static void on_alarm(int n)
{
	tick(n);
}
static void on_term(int n)
{
	(void)n;
	stop = 1;
}
static void *thread(void *number)
{
	long k = (long)number, want = round_once();

	for (; !stop; rounds[k]++) {
		wrong[k] += round_once() != want;
		usleep(10000);
	}
	return NULL;
}

int main(void)
{
	struct sigaction on = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 3000}, {0, 3000}};
	pthread_t threads[THREADS];
	long n = 0, bad = 0;

	sigaction(SIGALRM, &on, NULL);
	on.sa_handler = on_term;
	sigaction(SIGTERM, &on, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		n += rounds[i];
		bad += wrong[i];
	}
	printf("%ld rounds, %ld wrong\n", n, bad);
	return bad != 0;
}
