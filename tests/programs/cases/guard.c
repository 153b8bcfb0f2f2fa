// SPDX-License-Identifier: LGPL-2.1-or-later
/* guard.c: a thread's recursion that meets the end of its stack, twice; a handler on an alternate
 * stack jumps out of it. How deep it came is what it wrote last. */
#include "case.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static volatile long depth;
static sigjmp_buf out;

FN void leaf(void)
{
	KEEP;
}
FN void handler(int signal)
{
	(void)signal;
	leaf();
	KEEP;
	siglongjmp(out, 1);
}
FN void down(long n)
{
	depth = n;
	((volatile char *)__builtin_frame_address(0))[-2048] = 1;
	down(n + 1);
	KEEP;
	leaf();
}
FN void try(void)
{
	if (sigsetjmp(out, 1) == 0)
		down(1);
	leaf();
	KEEP;
}
FN void *thread(void *unused)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	(void)unused;
	sigaltstack(&other, NULL);
	try();
	LET("first", depth);
	try();
	LET("second", depth);
	KEEP;
	return NULL;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	pthread_attr_t attr;
	pthread_t id;
	sigaction(SIGSEGV, &action, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_create(&id, &attr, thread, NULL);
	pthread_join(id, NULL);
	leaf();
	KEEP;
	return 0;
}
