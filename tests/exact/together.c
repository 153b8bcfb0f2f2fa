// SPDX-License-Identifier: LGPL-2.1-or-later
/* together.c: signals that come two and three at once: the kernel makes a frame for each before it
 * goes on, so that a handler is interrupted before its first instruction, by the next one. As many
 * times as the argument says, which goes to stdout. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interrupted.h"

FN void handle(int signal)
{
	came++;
	leaf();
	if (came % 3 == 0)
		twice();
	(void)signal;
	KEEP;
}
FN void handle_other(int signal)
{
	(void)signal;
	twice();
	KEEP;
}
FN void handle_third(int signal)
{
	sink += signal;
	KEEP;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = handle};
	long enough = argc > 1 ? atol(argv[1]) : 1000;
	sigset_t all;
	if (argc > 2)
		action.sa_flags = SA_ONSTACK;
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = handle_other;
	sigaction(SIGUSR2, &action, NULL);
	action.sa_handler = handle_third;
	sigaction(SIGURG, &action, NULL);
	sigfillset(&all);
	while (came < enough) {
		sigprocmask(SIG_BLOCK, &all, NULL);
		kill(getpid(), SIGUSR1);
		kill(getpid(), SIGUSR2);
		if (came % 2)
			kill(getpid(), SIGURG);
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		leaf();
	}
	printf("%ld\n", came);
	return 0;
}
