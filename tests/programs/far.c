// SPDX-License-Identifier: LGPL-2.1-or-later
/* far.c: a library calls back below a frame of 600,000 bytes. */
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

__attribute__((noinline)) static int large(int x)
{
	char bytes[600000];
	memset(bytes, x, sizeof(bytes));
	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(i * 7 % 5 + x);
	qsort(bytes, 8, 1, compare);
	return bytes[0];
}

__attribute__((noinline)) static int silent(int x)
{
	return large(x) + 1;
}

int main(void)
{
	int sum = 0;
	for (int i = 0; i < 3; i++)
		sum += silent(i);
	return sum == 0;
}
