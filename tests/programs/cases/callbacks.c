// SPDX-License-Identifier: LGPL-2.1-or-later
/* callbacks.c: functions that a library calls: constructors, qsort and one inside of the other,
 * bsearch, twalk, scandir's filter, destructors of a pthread key, atexit, destructors. */
#include "case.h"

#include <dirent.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

static long comparisons, visits, seen;
/* Not the one that the header has inlined. */
static void *(*volatile look)(const void *, const void *, size_t, size_t,
			      int (*)(const void *, const void *)) = bsearch;

FN void small(void)
{
	KEEP;
}
__attribute__((constructor)) FN void constructor(void)
{
	small();
	KEEP;
}
__attribute__((destructor)) FN void destructor(void)
{
	small();
	KEEP;
}
FN int compare(const void *a, const void *b)
{
	comparisons++;
	return *(const int *)a - *(const int *)b;
}
FN int compare_two(const void *a, const void *b)
{
	small();
	KEEP;
	return *(const int *)a - *(const int *)b;
}
FN int compare_sorting(const void *a, const void *b)
{
	int numbers[2] = {*(const int *)a, *(const int *)b};
	qsort(numbers, 2, sizeof(*numbers), compare_two);
	small();
	return *(const int *)a - *(const int *)b;
}
FN void sort_many(void)
{
	int numbers[1000];
	for (unsigned i = 0; i < 1000; i++)
		numbers[i] = i * 7919 % 1000;
	qsort(numbers, 1000, sizeof(*numbers), compare);
	LET("comparisons", comparisons);
}
FN void sort_nested(void)
{
	int numbers[2] = {2, 1};
	qsort(numbers, 2, sizeof(*numbers), compare_sorting);
	small();
	KEEP;
}
FN void search(void)
{
	int numbers[1] = {5}, key = 5;
	if (!look(&key, numbers, 1, sizeof(*numbers), compare_two))
		abort();
	KEEP;
}
FN void visit(const void *node, VISIT which, int depth)
{
	(void)node;
	(void)depth;
	visits++;
	if (which == leaf)
		small();
	KEEP;
}
FN void walk(void)
{
	static int numbers[2] = {1, 2};
	void *root = NULL;
	for (int i = 0; i < 2; i++)
		tsearch(&numbers[i], &root, compare_two);
	twalk(root, visit);
	KEEP;
}
FN int filter(const struct dirent *entry)
{
	(void)entry;
	seen++;
	small();
	KEEP;
	return 0;
}
FN void scan(void)
{
	struct dirent **list;
	if (scandir("/proc/self/task", &list, filter, alphasort) < 0)
		abort();
	LET("seen", seen);
}
FN void key_destructor(void *value)
{
	(void)value;
	small();
	KEEP;
}
FN void *thread(void *key)
{
	pthread_setspecific(*(pthread_key_t *)key, key);
	small();
	KEEP;
	return NULL;
}
FN void keys(void)
{
	pthread_key_t key;
	pthread_t id;
	pthread_key_create(&key, key_destructor);
	pthread_create(&id, NULL, thread, &key);
	pthread_join(id, NULL);
	small();
	KEEP;
}
FN void at_exit_first(void)
{
	small();
	KEEP;
}
FN void at_exit_last(void)
{
	small();
	small();
	KEEP;
}

int main(void)
{
	atexit(at_exit_last);
	atexit(at_exit_first);
	sort_many();
	sort_nested();
	search();
	walk();
	scan();
	keys();
	KEEP;
	exit(0);
}
