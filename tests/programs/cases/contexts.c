// SPDX-License-Identifier: LGPL-2.1-or-later
/* contexts.c: stacks made by makecontext() and switched by swapcontext(): three that take turns,
 * one that ends through uc_link, a generator that yields in a loop out of a nested call, one that
 * is left unfinished and whose stack is used again, one that longjmp()s inside of itself, one that
 * calls back out of qsort() and is left in the middle of that, and one on a stack that lies in a
 * frame of main()'s. */
#include "case.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK_BYTES (64 << 10)

static ucontext_t home, turn[3], other;
static char stacks[3][STACK_BYTES];
static int next_value;
static jmp_buf back;

FN void leaf(void)
{
	KEEP;
}

/* ---- three that take turns ---- */

FN void pass_on(int from)
{
	leaf();
	KEEP;
	swapcontext(&turn[from], &turn[(from + 1) % 3]);
	leaf();
	KEEP;
}
FN void take_turns(int me)
{
	for (int i = 0; i < 3; i++)
		pass_on(me);
	leaf();
	if (me == 2)
		swapcontext(&turn[me], &home);
	else
		swapcontext(&turn[me], &turn[me + 1]);
	KEEP;
}
FN void ping_pong(void)
{
	for (int i = 0; i < 3; i++) {
		getcontext(&turn[i]);
		turn[i].uc_stack.ss_sp = stacks[i];
		turn[i].uc_stack.ss_size = STACK_BYTES;
		turn[i].uc_link = NULL;
		makecontext(&turn[i], (void (*)(void))take_turns, 1, i);
	}
	swapcontext(&home, &turn[0]);
	leaf();
	KEEP;
}

/* ---- one at a time ---- */

FN void begin(void (*body)(void), void *stack, ucontext_t *after)
{
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = STACK_BYTES;
	other.uc_link = after;
	makecontext(&other, body, 0);
	KEEP;
}
FN void resume(void)
{
	swapcontext(&home, &other);
	KEEP;
}
FN void yield(int value)
{
	next_value = value;
	swapcontext(&other, &home);
	KEEP;
}
FN void ends(void)
{
	leaf();
	KEEP;
}
FN void generate(int n)
{
	if (n > 1)
		generate(n - 1);
	yield(n);
	leaf();
	KEEP;
}
FN void generator(void)
{
	generate(4);
	next_value = 0;
	leaf();
	KEEP;
}
FN void unfinished(void)
{
	for (;;)
		yield(7);
}
FN void jumper(int n)
{
	if (n)
		jumper(n - 1);
	yield(n);
	longjmp(back, 1);
}
FN void jumps(void)
{
	if (!setjmp(back))
		jumper(2);
	leaf();
	yield(9);
	leaf();
	KEEP;
}
FN int compare(const void *a, const void *b)
{
	yield(*(const int *)a);
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
FN void run(void (*body)(void), int times)
{
	begin(body, stacks[0], &home);
	while (times--)
		resume();
	KEEP;
}
FN void on_own_stack(void)
{
	char stack[STACK_BYTES];
	begin(generator, stack, &home);
	do {
		resume();
		leaf();
	} while (next_value);
	KEEP;
}
int main(void)
{
	ping_pong();
	run(ends, 1);
	begin(generator, stacks[0], &home);
	do {
		resume();
		leaf();
	} while (next_value);
	run(unfinished, 3);
	run(ends, 1);
	run(jumps, 3);
	run(sorts, 2);
	on_own_stack();
	run(unfinished, 2);
	leaf();
	KEEP;
	return 0;
}
