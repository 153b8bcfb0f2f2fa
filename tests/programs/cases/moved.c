// SPDX-License-Identifier: LGPL-2.1-or-later
/* moved.c: a stack that one thread begins, another goes on with, and the first ends. */
#include "case.h"

#include <pthread.h>
#include <ucontext.h>

static ucontext_t home[2], body;
static char stack[64 << 10];
static int runs_on;

FN void leaf(void)
{
	KEEP;
}
FN void yield(void)
{
	swapcontext(&body, &home[runs_on]);
	leaf();
	KEEP;
}
FN void nested(int n)
{
	if (n)
		nested(n - 1);
	else
		yield();
	KEEP;
}
FN void work(void)
{
	leaf();
	nested(2);
	nested(1);
	leaf();
	KEEP;
}
FN void go_on(int thread)
{
	runs_on = thread;
	swapcontext(&home[thread], &body);
	leaf();
	KEEP;
}
FN void *second(void *unused)
{
	(void)unused;
	go_on(1);
	leaf();
	KEEP;
	return NULL;
}
int main(void)
{
	pthread_t thread;
	getcontext(&body);
	body.uc_stack.ss_sp = stack;
	body.uc_stack.ss_size = sizeof(stack);
	body.uc_link = &home[0];
	makecontext(&body, work, 0);
	go_on(0);
	pthread_create(&thread, NULL, second, NULL);
	pthread_join(thread, NULL);
	go_on(0);
	KEEP;
	return 0;
}
