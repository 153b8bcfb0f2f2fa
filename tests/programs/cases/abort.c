// SPDX-License-Identifier: LGPL-2.1-or-later
/* abort.c: a program that gives up, deep in a callback: the trace ends in the call of abort(), with
 * all that was open. A handler of the signal has run before. */
#include "case.h"

#include <signal.h>
#include <stdlib.h>

FN void leaf(void)
{
	KEEP;
}
FN void handler(int signal)
{
	(void)signal;
	leaf();
	leaf();
	KEEP;
}
FN void gives_up(int n)
{
	leaf();
	if (n > 2)
		abort();
	KEEP;
	leaf();
}
FN void way(int n)
{
	gives_up(n);
	gives_up(n + 1);
	leaf();
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
	signal(SIGABRT, handler);
	leaf();
	qsort(numbers, 2, sizeof(*numbers), compare);
	leaf();
	KEEP;
	return 0;
}
