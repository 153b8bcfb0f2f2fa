// SPDX-License-Identifier: LGPL-2.1-or-later
/* tailcalls.c: chains of calls that compilers make jumps of: straight, to each other in a circle,
 * through pointers, out of a callback, and into a library that calls back. */
#include "case.h"

#include <stdlib.h>

FN int leaf(int n)
{
	KEEP;
	return n + 1;
}
FN int third(int n)
{
	leaf(n);
	KEEP;
	return leaf(n);
}
FN int second(int n)
{
	if (n & 1)
		leaf(n);
	KEEP;
	return third(n);
}
FN int first(int n)
{
	return second(n + 1);
}
FN int odd(int n);
FN int even(int n)
{
	KEEP;
	return n ? odd(n - 1) : 1;
}
FN int odd(int n)
{
	KEEP;
	return n ? even(n - 1) : 0;
}
static int (*volatile pointers[])(int) = {first, leaf, second};
FN int by_pointer(int n)
{
	KEEP;
	return pointers[n](n);
}
FN int by_two_pointers(int n)
{
	leaf(n);
	KEEP;
	return by_pointer(n);
}
FN int maybe(int n)
{
	KEEP;
	if (n & 1)
		return first(n);
	if (n & 2)
		return pointers[1](n);
	leaf(n);
	return n;
}
FN int compare(const void *a, const void *b)
{
	KEEP;
	return leaf(*(const int *)a - *(const int *)b);
}
FN void sort(int *numbers)
{
	KEEP;
	qsort(numbers, 2, sizeof(*numbers), compare);
}
FN void sorts(void)
{
	int numbers[2] = {2, 1};
	sort(numbers);
	leaf(1);
	sort(numbers);
	KEEP;
}
FN void at_exit(void)
{
	leaf(1);
	KEEP;
}
FN void ends(void)
{
	KEEP;
	exit(0);
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		first(i);
		maybe(i);
	}
	for (int i = 0; i < 3; i++) {
		by_pointer(i);
		by_two_pointers(i);
	}
	even(1000);
	odd(999);
	sorts();
	atexit(at_exit);
	ends();
	return 1;
}
