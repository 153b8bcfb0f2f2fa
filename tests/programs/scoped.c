// SPDX-License-Identifier: LGPL-2.1-or-later
/* scoped.c: what a recording of a part of the functions must tell apart: early() runs and is left
 * before main() begins on the same stack, whose frames leave its return address as it was; and
 * outer() is in a call of middle(), whose large frame holds return addresses of calls that have
 * ended. Traced are early, outer, inner, deep and deeper: main and middle are not. Prints a sum,
 * and how far into a page main's frame ends. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sum;

NOINLINE void inner(int n)
{
	sum += n;
}

NOINLINE void deeper(int n)
{
	volatile char room[200];
	room[n % 200] = 1;
	sum += room[n % 200];
}

NOINLINE void deep(int n)
{
	if (n)
		deep(n - 1);
	deeper(n);
}

NOINLINE void middle(int n)
{
	volatile char room[4500]; /* not written to: what was there stays */
	for (int i = 0; i < n; i++)
		inner(i);
	if (n < 0)
		memset((char *)room, 0, sizeof(room));
}

NOINLINE void outer(int n)
{
	deep(12);
	middle(n);
	deeper(n);
}

static void __attribute__((constructor)) early(void)
{
	inner(1);
}

int main(int argc, char **argv)
{
	volatile char room[7000];
	int n = argc > 1 ? atoi(argv[1]) : 0;
	room[n % 7000] = 1;
	for (int i = 0; i < n; i++)
		inner(i);
	for (int i = 0; i < n; i++)
		outer(n);
	uintptr_t sp;
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	printf("%d %d\n", sum + room[n % 7000], (int)(sp & 4095));
	return 0;
}
