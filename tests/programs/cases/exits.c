// SPDX-License-Identifier: LGPL-2.1-or-later
/* exits.c: the C library ends the program, deep in calls that nothing shows: what was open has not
 * returned, and what would have come next was not called. A handler of its end calls back. */
#include "case.h"

#include <error.h>
#include <stdlib.h>
#include <string.h>

static volatile int always;

FN void leaf(void)
{
	KEEP;
}
FN void at_end(void)
{
	leaf();
	leaf();
	KEEP;
}
FN void after(void)
{
	leaf();
	KEEP;
}
FN void check(int n)
{
	leaf();
	if (n > 1)
		error(3, 0, "as it should");
	KEEP;
}
/* Leaves return addresses on the stack that are not of calls in progress. */
FN void deep(int n)
{
	char bytes[2000];
	if (n > 100)
		memset(bytes, n, sizeof(bytes));
	check(n);
	after();
	if (n > 100)
		always = bytes[n];
	KEEP;
}
FN void way(int n)
{
	check(0);
	deep(n);
	after();
	KEEP;
}
FN int compare(const void *a, const void *b)
{
	way(1);
	way(2);
	KEEP;
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	int numbers[2] = {2, 1};
	atexit(at_end);
	way(1);
	qsort(numbers, 2, sizeof(*numbers), compare);
	after();
	KEEP;
	return 0;
}
