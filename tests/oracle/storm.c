// SPDX-License-Identifier: LGPL-2.1-or-later
/* storm.c: calls without end while a timer's signal comes at every moment, also between a call and
 * the first instruction of what it calls. That lies in another page, so that QEMU does not go there
 * straight from the call. For selftest.sh. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t handled;
static volatile unsigned calls;

static __attribute__((noinline, aligned(4096))) void leaf(void)
{
	calls++;
}

static __attribute__((noinline, aligned(4096))) void down(unsigned depth)
{
	leaf();
	if (depth)
		down(depth - 1);
	leaf();
}

static void on_signal(int signal)
{
	(void)signal;
	leaf();
	handled++;
}

int main(void)
{
	const struct itimerval often = {{0, 100}, {0, 100}};

	signal(SIGALRM, on_signal);
	if (setitimer(ITIMER_REAL, &often, NULL))
		return 1;
	while (handled < 500)
		down(20);
	return calls ? 0 : 1;
}
