// SPDX-License-Identifier: LGPL-2.1-or-later
/* code_models.c: calls, jump tables and setjmp, compiled for code that may lie anywhere
 * (-mcmodel=large and its like): addresses are sums of constants, and each call is one of a
 * register. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define FN __attribute__((noinline)) static

FN int leaf(int i)
{
	return i ^ 5;
}
FN int one(int i)
{
	return leaf(i) + 1;
}
FN int apply(int (*f)(int), int i)
{
	return f(i) + leaf(i);
}

/* A jump table. */
FN int by_number(int i)
{
	switch (i) {
	case 0:
		return leaf(1);
	case 1:
		return apply(leaf, 2) + leaf(3);
	case 2:
		leaf(4);
		return one(5);
	case 3:
		return leaf(leaf(6));
	case 4:
		one(1);
		return 7;
	case 5:
		return leaf(2) + leaf(3);
	case 6:
		return one(leaf(8)) * 3;
	}
	return 0;
}

/* Calls that return twice, and one that never does. */
static jmp_buf back;
FN int deeper(int n)
{
	if (!n)
		longjmp(back, 1);
	return deeper(n - 1) + leaf(n);
}
FN int tried(int i)
{
	if (setjmp(back))
		return leaf(i);
	return i % 7 == 3 ? deeper(i % 4) : one(i);
}

/* Calls that switch stacks. */
static ucontext_t resumer, coroutine;
static int total;
FN void yield(void)
{
	swapcontext(&coroutine, &resumer);
}
FN int work(int i)
{
	int sum = leaf(i);
	if (i > 0) {
		sum += work(i - 1);
		yield();
	}
	return sum + leaf(sum);
}
FN void body(void)
{
	for (int i = 0;; i++) {
		total += work(i % 3);
		yield();
	}
}

FN int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

int main(void)
{
	volatile int n = 0;
	int a[9];
	static char stack[65536];
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = &resumer;
	makecontext(&coroutine, body, 0);
	for (int i = 0; i < 60; i++) {
		n += by_number(i % 8) + tried(i);
		for (int k = 0; k < 9; k++)
			a[k] = k * 7 % (i + 2);
		if (i % 10 == 0)
			qsort(a, 9, sizeof(*a), compare);
		if (i % 3 == 0)
			swapcontext(&resumer, &coroutine);
	}
	printf("%d %d\n", n, total);
	return 0;
}
