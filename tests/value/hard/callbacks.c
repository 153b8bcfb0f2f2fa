// SPDX-License-Identifier: LGPL-2.1-or-later
/* Called back through qsort, qsort_r, bsearch, tsearch, twalk, scandir, atexit; a sort within a
 * comparison; often, and by pointers that are called here as well. */
#include "note.h"
#include <dirent.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
static long calls, walked;
static int numbers[400], small[7];
static int compare(const void *a, const void *b)
{
	calls++;
	return *(const int *)a - *(const int *)b;
}
static int compare_r(const void *a, const void *b, void *by)
{
	++*(long *)by;
	return *(const int *)b - *(const int *)a;
}
static int nested(const void *a, const void *b)
{
	for (int i = 0; i < 7; i++)
		small[i] = (*(const int *)a + i * 5) % 11;
	qsort(small, 7, sizeof(int), compare);
	return *(const int *)a - *(const int *)b;
}
static void visit(const void *node, VISIT which, int depth)
{
	if (which == postorder || which == leaf)
		walked = walked * 31 + **(int **)node + depth;
}
static int chosen(const struct dirent *d)
{
	calls += 3;
	return d->d_name[0] != '.';
}
static int (*volatile by)(const void *, const void *) = compare;
static void over(void)
{
	note(90, calls);
}
int main(void)
{
	long s = 0, other = 0;
	void *tree = NULL;
	struct dirent **names;
	int turn = 0;
	atexit(over);
	do {
		for (int i = 0; i < 400; i++)
			numbers[i] = (i * 7919L + turn) % 100003;
		qsort(numbers, 400, sizeof(int), by);
		s = s * 3 + numbers[turn % 400];
		int *at = bsearch(&numbers[turn % 400], numbers, 400, sizeof(int), by);
		s += at - numbers;
		for (int i = 1; i < 50; i++)
			s += by(&numbers[i], &numbers[i - 1]);
	} while (++turn < 20 || goes_on());
	note(1, s);
	note(2, calls);
	qsort_r(numbers, 400, sizeof(int), compare_r, &other);
	note(3, other);
	note(4, numbers[17]);
	qsort(numbers, 100, sizeof(int), nested);
	note(5, calls * 1000 + small[3]);
	for (int i = 0; i < 100; i++)
		tsearch(&numbers[i * 37 % 100], &tree, compare);
	twalk(tree, visit);
	note(6, walked);
	note(7, scandir("/proc/self/fdinfo", &names, chosen, alphasort) > 0);
	note(8, calls);
	return 0;
}
