// SPDX-License-Identifier: LGPL-2.1-or-later
/* offsets.c: calls functions whose addresses are nowhere but in a table of 32-bit words: offsets
 * from the table's begin or from where each lies (-DFROM=1, 2) or, where the file has a fixed
 * address, addresses. One of them is called directly as well. */
#include <stdio.h>

enum { TABLE = 1, PLACE, FIXED };

__attribute__((noinline, used)) static int triple(int x)
{
	return x * 3;
}

__attribute__((noinline, used)) static int sum(int x)
{
	int s = 0;
	for (int i = 0; i < x; i++)
		if ((s += i) % 5 == 2)
			s++;
	return s;
}

typedef int (*function)(int);
extern const int offsets[];

#if FROM == 1
__asm__(".section .rodata\n.balign 4\n"
	"offsets: .long triple-offsets, sum-offsets, triple-offsets\n.text");
#elif FROM == 2
__asm__(".section .rodata\n.balign 4\noffsets: .long triple-., sum-., triple-.\n.text");
#else
__asm__(".section .rodata\n.balign 4\noffsets: .long triple, sum, triple\n.text");
#endif

static function function_at(int i)
{
	if (FROM == TABLE)
		return (function)((const char *)offsets + offsets[i]);
	if (FROM == PLACE)
		return (function)((const char *)&offsets[i] + offsets[i]);
	return (function)(unsigned long)(unsigned)offsets[i];
}

int main(void)
{
	int s = triple(1);
	for (int i = 0; i < 300; i++)
		s += function_at(i % 3)(i % 20);
	printf("%d\n", s);
	return 0;
}
