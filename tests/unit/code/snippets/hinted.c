/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hinted.c: functions that nothing strong leads to: by a table of offsets, by nothing at all, in a
 * circle, and what these call. */
#include <stdio.h>

extern const int offsets[];
#define FUNCTION __attribute__((noinline, used)) static int

FUNCTION called_by_uncalled(int x)
{
	return x + puts("a");
}
FUNCTION in_table(int x)
{
	return x + puts("b");
}
FUNCTION in_table_and_called(int x)
{
	return x + puts("c");
}
FUNCTION uncalled(int x)
{
	return called_by_uncalled(x) + puts("d");
}
FUNCTION second_in_circle(int x);
FUNCTION first_in_circle(int x)
{
	return second_in_circle(x) + puts("e");
}
FUNCTION second_in_circle(int x)
{
	return first_in_circle(x) + puts("f");
}

__asm__(".section .rodata\n.balign 4\n"
	"offsets: .long in_table-offsets, 0, in_table_and_called-offsets, 12345\n.text");

int main(int argc, char **argv)
{
	(void)argv;
	int (*f)(int) = (int (*)(int))((const char *)offsets + offsets[argc % 3]);
	return f(in_table_and_called(argc));
}
