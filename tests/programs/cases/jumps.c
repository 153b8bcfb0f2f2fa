// SPDX-License-Identifier: LGPL-2.1-or-later
/* jumps.c: __builtin_setjmp and __builtin_longjmp, which are code of the program itself and have no
 * name: out of several frames, again and again to one place, out of a callback, to one of two
 * places, and inside of a coroutine. */
#include "case.h"

#include <stdlib.h>
#include <ucontext.h>

#define STACK_BYTES (64 << 10)

static void *outer[5], *inner[5];
static ucontext_t home, body;
static char stack[STACK_BYTES];
static volatile int count;

FN void leaf(void)
{
	KEEP;
}
FN void leap(void **to)
{
	leaf();
	__builtin_longjmp(to, 1);
}
FN void down(int n, void **to)
{
	if (n)
		down(n - 1, to);
	else if (to)
		leap(to);
	leaf();
	KEEP;
}
FN void once(void)
{
	if (!__builtin_setjmp(outer))
		down(3, outer);
	leaf();
	KEEP;
}
FN void not_at_all(void)
{
	if (!__builtin_setjmp(outer))
		down(2, NULL);
	leaf();
	KEEP;
}
FN void again(void)
{
	count = 0;
	__builtin_setjmp(outer);
	leaf();
	if (++count < 4)
		down(count, outer);
	leaf();
	KEEP;
}
FN void two_places(void)
{
	for (count = 0; count < 4; count++) {
		if (__builtin_setjmp(outer)) {
			leaf();
			KEEP;
			continue;
		}
		if (!__builtin_setjmp(inner))
			down(2, count % 2 ? inner : outer);
		leaf();
		leaf();
		KEEP;
	}
}
FN int compare(const void *a, const void *b)
{
	leaf();
	down(1, outer);
	return *(const int *)a - *(const int *)b;
}
FN void out_of_library(void)
{
	int numbers[] = {3, 2, 1};
	if (!__builtin_setjmp(outer))
		qsort(numbers, 3, sizeof(*numbers), compare);
	leaf();
	KEEP;
}
FN void yield(void)
{
	swapcontext(&body, &home);
	KEEP;
}
FN void coroutine(void)
{
	yield();
	if (!__builtin_setjmp(inner))
		down(2, inner);
	yield();
	leaf();
	KEEP;
}
FN void resume(void)
{
	swapcontext(&home, &body);
	KEEP;
}
FN void in_coroutine(void)
{
	getcontext(&body);
	body.uc_stack.ss_sp = stack;
	body.uc_stack.ss_size = STACK_BYTES;
	body.uc_link = &home;
	makecontext(&body, coroutine, 0);
	for (int i = 0; i < 3; i++)
		resume();
	KEEP;
}
int main(void)
{
	once();
	not_at_all();
	again();
	two_places();
	out_of_library();
	in_coroutine();
	leaf();
	KEEP;
	return 0;
}
