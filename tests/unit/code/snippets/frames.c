// SPDX-License-Identifier: LGPL-2.1-or-later
/* frames.c: frames whose size or alignment is only known at run time, and very large ones. */
#include <alloca.h>
#include <stdalign.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

volatile int sink;

NOINLINE int use(void *p, int n)
{
	memset(p, n, (size_t)n);
	return sink += ((char *)p)[n / 2];
}

NOINLINE int with_alloca(int n, int *where)
{
	for (int i = 0; i < n; i++)
		*where += use(alloca((size_t)n), n);
	return *where;
}

NOINLINE int with_arrays(int n, int *const *where)
{
	int sum = 0;
	for (int i = 1; i < n; i++) {
		char outer[i];
		sum += use(outer, i);
		if (where[i]) {
			char inner[*where[i] + i];
			sum += use(inner, i);
		}
		*where[0] = sum;
	}
	return sum;
}

NOINLINE int with_alignment(int n, int *where)
{
	alignas(64) char aligned[128];
	*where = use(aligned, n & 127);
	return use(aligned, *where & 127);
}

NOINLINE int with_both(int n, int a, int b, int c, int d, int e, int on_stack, int *where)
{
	alignas(64) char aligned[128];
	char array[n];
	*where = use(aligned, a & 127) + use(array, n) + b + c + d + e;
	return use(aligned, on_stack & 127);
}

NOINLINE int with_large_frame(int n, int *where)
{
	char large[300000];
	return use(large, n) + *where;
}

int main(int argc, char **argv)
{
	int n = argc, *where[] = {&n, &n, NULL};
	(void)argv;
	return with_alloca(n, &n) + with_arrays(2, where) + with_alignment(n, &n) +
	       with_both(n, n, n, n, n, n, n, &n) + with_large_frame(n, &n);
}
