// SPDX-License-Identifier: LGPL-2.1-or-later
/* between.c: signals that come between a switch to another stack and the first thing that is seen
 * there: a fault right behind swapcontext() and in the first instruction of a new stack's first
 * function, where a handler has to mend a page, one behind the end of a stack that goes on by
 * uc_link, and a pending signal that comes inside of swapcontext() itself. */
#include "case.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (64 << 10)

static ucontext_t home, body;
static char stack[STACK_BYTES] __attribute__((aligned(16)));
static char *page;

FN void leaf(void)
{
	KEEP;
}
FN void other(void)
{
	KEEP;
}
FN void handler(int signal)
{
	(void)signal;
	leaf();
	KEEP;
}
FN void handler_mending(int signal)
{
	(void)signal;
	leaf();
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	KEEP;
}
#define FAULT                                                                                      \
	do {                                                                                       \
		*(volatile char *)page = 1;                                                        \
		mprotect(page, 4096, PROT_NONE);                                                   \
	} while (0)

FN void yield(void)
{
	swapcontext(&body, &home);
	FAULT;
	leaf();
	KEEP;
}
FN void resume(void)
{
	swapcontext(&home, &body);
	FAULT;
	leaf();
	KEEP;
}
FN void coroutine(void)
{
	FAULT;
	other();
	yield();
	yield();
	leaf();
	KEEP;
}
/* What is pending comes as soon as the other stack's mask is set. */
FN void resume_by_signal(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	resume();
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	KEEP;
}
int main(void)
{
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		abort();
	signal(SIGUSR1, handler);
	signal(SIGSEGV, handler_mending);
	for (int i = 0; i < 3; i++) {
		getcontext(&body);
		body.uc_stack.ss_sp = stack;
		body.uc_stack.ss_size = STACK_BYTES;
		body.uc_link = &home;
		makecontext(&body, coroutine, 0);
		resume();
		if (i == 1)
			resume_by_signal();
		else
			resume();
		if (i == 2)
			resume_by_signal();
		else
			resume();
	}
	leaf();
	return 0;
}
