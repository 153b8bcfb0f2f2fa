// SPDX-License-Identifier: LGPL-2.1-or-later
/* views.c: a program whose every call is known, for the tests of what shows a trace: calls, a loop
 * of leaf calls, recursion, a tail call, a callback from the C library, longjmp out of two frames,
 * and the end by exit(). */
#include <setjmp.h>
#include <stdlib.h>

#define PLAIN __attribute__((noinline, noclone, noipa))

static jmp_buf back;
static volatile int sink;

PLAIN void leaf(int i)
{
	sink += i;
}

PLAIN int factorial(int n)
{
	int below = n < 2 ? 1 : factorial(n - 1);
	__asm__ volatile("" : "+r"(below)); /* or it becomes a loop */
	return n * below;
}

PLAIN int last_step(int n)
{
	sink += n;
	return n + 1;
}

PLAIN int first_step(int n)
{
	leaf(n);
	return last_step(n);
}

PLAIN int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

PLAIN void sort_two(void)
{
	int numbers[] = {2, 1};
	qsort(numbers, 2, sizeof(*numbers), compare);
	sink += numbers[0];
}

PLAIN void jump_out(void)
{
	leaf(7);
	longjmp(back, 1);
}

PLAIN void way_there(void)
{
	jump_out();
	sink++; /* never */
}

PLAIN void jumps(void)
{
	if (!setjmp(back))
		way_there();
	leaf(8);
}

PLAIN void work(void)
{
	for (int i = 0; i < 5; i++)
		leaf(i);
	sink += factorial(4);
	sink += first_step(1);
	sort_two();
	jumps();
	sink++; /* or it becomes a tail call */
}

int main(void)
{
	work();
	exit(0);
}
