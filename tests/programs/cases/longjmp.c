// SPDX-License-Identifier: LGPL-2.1-or-later
/* longjmp.c: jumps out of several frames, out of a library's (qsort), again and
 * again to the same place, and from one of two nested places to either. */
#include "case.h"

#include <setjmp.h>
#include <stdlib.h>

static jmp_buf outer, inner;

FN void leaf(void)
{
	KEEP;
}
FN void jumper(jmp_buf to, int value)
{
	leaf();
	KEEP;
	if (value)
		longjmp(to, value);
	leaf();
	KEEP;
}
FN void way(jmp_buf to, int n, int value)
{
	if (n)
		way(to, n - 1, value);
	else
		jumper(to, value);
	KEEP;
}
FN void simple(int value)
{
	if (setjmp(outer) == 0)
		way(outer, 3, value);
	else
		leaf();
	KEEP;
}
FN void again(void)
{
	volatile int n = 0;
	if (setjmp(outer) < 100)
		way(outer, 1, ++n);
	leaf();
	KEEP;
}
FN void nested_inner(int which)
{
	if (setjmp(inner) == 0)
		way(which ? outer : inner, 1, 1);
	else
		leaf();
	KEEP;
}
FN void nested(int which)
{
	if (setjmp(outer) == 0)
		nested_inner(which);
	else
		leaf();
	leaf();
	KEEP;
}
FN int compare(const void *a, const void *b)
{
	if (*(const int *)a == *(const int *)b)
		jumper(outer, 1);
	KEEP;
	return *(const int *)a - *(const int *)b;
}
FN void sorts(int first)
{
	int numbers[2] = {first, 7};
	if (setjmp(outer) == 0)
		qsort(numbers, 2, sizeof(*numbers), compare);
	else
		leaf();
	KEEP;
}
int main(void)
{
	simple(0);
	simple(1);
	again();
	nested(0);
	nested(1);
	sorts(3);
	sorts(7);
	KEEP;
	return 0;
}
