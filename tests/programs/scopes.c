// SPDX-License-Identifier: LGPL-2.1-or-later
/* scopes.c: of this program only traced_outer() and traced_inner() are to be traced. One is inside
 * of the other, by way of code that is not: through a frame of a constant height, one that grows,
 * and one that library code calls back. And then it is not, but the stack still holds what looks
 * so: the frame of untidy() lies where the calls that led from one to the other have left their
 * return addresses, and its own ends do not touch them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FN __attribute__((noinline, noipa))

volatile int sink;

FN int traced_inner(int x)
{
	sink += x;
	return x + 1;
}

FN int constant(int x)
{
	sink++;
	return x > 0 ? traced_inner(x) + 1 : x;
}

FN int growing(int x)
{
	char *grown = __builtin_alloca(16 * (size_t)x + 32);
	memset(grown, x, 16 * (size_t)x + 32);
	return constant(x) + grown[x];
}

FN int compare(const void *a, const void *b)
{
	return constant(1) + *(const char *)a - *(const char *)b;
}

FN int sorting(int x)
{
	char two[2] = {(char)x, 0};
	qsort(two, sizeof(two), 1, compare);
	return two[0];
}

FN int traced_outer(int x, int (*way)(int))
{
	int result = way(x);
	sink++;
	return result + 1;
}

FN int padded(int x, int (*way)(int))
{
	volatile char pad[100];
	pad[3] = (char)x;
	int result = traced_outer(x, way);
	sink++;
	return result + pad[3];
}

FN int untidy(int x)
{
	char old[600];
	if (x > 100)
		for (int i = 0; i < 600; i++)
			old[i] = (char)sink;
	int result = traced_inner(x);
	if (x > 100)
		sink += old[x];
	return result;
}

int main(void)
{
	int sum = padded(1, constant) + padded(0, constant);
	sum += untidy(2);
	sum += padded(0, growing);
	sum += untidy(3);
	sum += padded(3, growing) + padded(2, sorting);
	sum += untidy(4);
	return sum == 0;
}
