// SPDX-License-Identifier: LGPL-2.1-or-later
/* timer.c: a busy program under a timer: signals come at any instruction, half of the handlers run
 * on an alternate stack, some are interrupted themselves, some jump out, of these every second with
 * another one waiting, until as many came as the argument says. How many came goes to stdout. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "interrupted.h"

FN void handle(int signal)
{
	came++;
	leaf();
	if (came % 64 == 0)
		raise(SIGUSR1); /* one in another */
	if (came % 97 == 0 && may_jump) {
		may_jump = 0;
		if (came / 97 % 2)
			raise(signal); /* waits, and comes when the jump lets it, before it is made
					*/
		siglongjmp(back, 1);
	}
	twice();
	(void)signal;
	KEEP;
}
FN void handle_user(int signal)
{
	(void)signal;
	twice();
	KEEP;
}
FN unsigned work(unsigned n)
{
	char text[64];
	leaf();
	if (n % 3 == 0)
		twice();
	memset(text, n, sizeof(text));
	snprintf(text, sizeof(text), "%u", n);
	unsigned sum = n < 2 ? strlen(text) : work(n - 1) + (n % 5 ? 0 : work(n - 2));
	twice();
	KEEP;
	return sum;
}
FN int compare(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}
FN void sort(unsigned seed)
{
	int numbers[32];
	for (unsigned i = 0; i < 32; i++)
		numbers[i] = (i + seed) * 7919 % 101;
	qsort(numbers, 32, sizeof(*numbers), compare);
	KEEP;
}
FN void round_once(unsigned i)
{
	if (sigsetjmp(back, 1) == 0) {
		may_jump = 1;
		sink += work(12 + i % 5);
		may_jump = 0;
	}
	sort(i);
	KEEP;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = handle};
	long enough = argc > 1 ? atol(argv[1]) : 1000;
	if (argc > 2)
		action.sa_flags = SA_ONSTACK;
	sigaltstack(&other, NULL);
	sigaction(SIGALRM, &action, NULL);
	action.sa_handler = handle_user;
	sigaction(SIGUSR1, &action, NULL);
	struct itimerval every = {{0, 700}, {0, 700}};
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned i = 0; came < enough; i++)
		round_once(i);
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
	printf("%ld\n", came);
	return 0;
}
