// SPDX-License-Identifier: LGPL-2.1-or-later
/* crash.c: a fault in the middle of a callback: the trace ends there, and says what was open. */
#include "case.h"

#include <stdlib.h>

static int *volatile nowhere;

FN void leaf(void)
{
	KEEP;
}
FN void faults(int n)
{
	leaf();
	if (n)
		*nowhere = n;
	KEEP;
	leaf();
}
FN void way(int n)
{
	leaf();
	faults(0);
	faults(n);
	leaf();
	KEEP;
}
FN int compare(const void *a, const void *b)
{
	way(1);
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

int main(void)
{
	sorts();
	KEEP;
	return 0;
}
