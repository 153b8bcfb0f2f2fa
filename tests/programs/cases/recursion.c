// SPDX-License-Identifier: LGPL-2.1-or-later
/* recursion.c: 100,000 frames deep, by one function, by two in turns, with calls on the way down
 * and on the way back, and ended by a jump from the bottom. */
#include "case.h"

#include <setjmp.h>

#define DEPTH 100000

static jmp_buf out;

FN void leaf(void)
{
	KEEP;
}
FN int down(int n)
{
	int result = n ? down(n - 1) : 0;
	KEEP;
	return result + 1;
}
FN int tock(int n);
FN int tick(int n)
{
	int result = 0;
	leaf();
	if (n)
		result = tock(n - 1);
	KEEP;
	return result + 1;
}
FN int tock(int n)
{
	int result = n ? tick(n - 1) : 0;
	leaf();
	KEEP;
	return result + 1;
}
FN int jump(int n)
{
	if (!n)
		longjmp(out, 1);
	int result = jump(n - 1);
	KEEP;
	return result + 1;
}
FN void jumps(void)
{
	if (!setjmp(out))
		jump(DEPTH);
	leaf();
	KEEP;
}

int main(void)
{
	down(DEPTH);
	tick(DEPTH);
	jumps();
	KEEP;
	return 0;
}
