// SPDX-License-Identifier: LGPL-2.1-or-later
/* signals.c: handlers of signals that a program sends to itself and of faults, one inside of
 * another, some that jump out, and one during a callback. altstack.c: some of them on an alternate
 * stack. */
#include "case.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef FLAGS
#define FLAGS 0
#endif

static sigjmp_buf by_signal;
static char *page;

FN void leaf(void)
{
	KEEP;
}
FN void handler(int signal)
{
	(void)signal;
	leaf();
	KEEP;
}
FN void handler_raising(int signal)
{
	(void)signal;
	leaf();
	raise(SIGUSR1);
	leaf();
	KEEP;
}
FN void handler_jumping(int signal)
{
	(void)signal;
	leaf();
	KEEP;
	siglongjmp(by_signal, 1);
}
FN void handler_mending(int signal)
{
	(void)signal;
	leaf();
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	KEEP;
}
FN void raises(int which)
{
	leaf();
	raise(which);
	leaf();
	KEEP;
}
FN void below(int which)
{
	leaf();
	raises(which);
	KEEP;
}
FN void jumps(void)
{
	for (volatile int i = 0; i < 5; i++)
		if (sigsetjmp(by_signal, 1) == 0)
			below(SIGTERM);
		else
			leaf();
	KEEP;
}
FN void store(void)
{
	*(volatile char *)page = 1;
	KEEP;
}
FN void faults(void)
{
	leaf();
	store();
	leaf();
	KEEP;
}
FN int compare(const void *a, const void *b)
{
	raises(SIGUSR1);
	KEEP;
	return *(const int *)a - *(const int *)b;
}
FN void sorts(void)
{
	int numbers[2] = {2, 1};
	qsort(numbers, 2, sizeof(*numbers), compare);
	leaf();
	KEEP;
}
FN void set_up(void)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	sigaltstack(&other, NULL);
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = {.sa_handler = handler};
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = handler_raising;
	sigaction(SIGUSR2, &action, NULL);
	action.sa_handler = handler_mending;
	sigaction(SIGSEGV, &action, NULL);
	action.sa_flags = FLAGS;
	action.sa_handler = handler;
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = handler_raising;
	sigaction(SIGALRM, &action, NULL);
	action.sa_handler = handler_jumping;
	sigaction(SIGTERM, &action, NULL);
}

int main(void)
{
	set_up();
	below(SIGUSR1);
	below(SIGUSR2);
	below(SIGHUP);
	below(SIGALRM);
	jumps();
	faults();
	sorts();
	KEEP;
	return 0;
}
