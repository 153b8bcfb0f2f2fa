// SPDX-License-Identifier: LGPL-2.1-or-later
/* packed.c: calls functions whose addresses are nowhere but in words of data that are not aligned.
 * With -DCALLS they call a function that is called elsewhere too. */
#include <stdio.h>

struct __attribute__((packed)) entry {
	char name;
	int (*function)(int);
};

__attribute__((noinline)) int sum(int x)
{
	int s = 0;
	for (int i = 0; i < x; i++)
		if ((s += i) % 5 == 2)
			s++;
	return s;
}

__attribute__((noinline)) static int triple(int x)
{
#ifdef CALLS
	return sum(x) * 3;
#else
	return x * 3;
#endif
}

__attribute__((noinline)) static int several(int x)
{
#ifdef CALLS
	if (x % 2)
		puts("");
	return sum(x) + sum(x + 1);
#else
	int s = 1;
	for (int i = 1; i < x; i++)
		s = s * i % 1001;
	return s;
#endif
}

static volatile struct entry entries[] = {{'a', triple}, {'b', several}, {'c', triple}};

int main(void)
{
	int s = sum(2);
	for (int i = 0; i < 300; i++)
		s += entries[i % 3].function(i % 20);
	printf("%d\n", s);
	return 0;
}
