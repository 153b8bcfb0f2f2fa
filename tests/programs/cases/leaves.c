// SPDX-License-Identifier: LGPL-2.1-or-later
/* leaves.c: a program ends as Free Pascal's do: a function replaces its return address by the one
 * of main(), so that the C library goes on as if main() had returned, below all frames that are
 * still open, which are left by that; and then calls what is to be done at the end. */
#include "case.h"

#include <stdlib.h>

void *home;
__attribute__((noreturn)) void asm_leave(int status);
__asm__(".text\n.type asm_leave, @function\nasm_leave:\n"
	"	mov %edi, %eax\n"
	"	pop %rdx\n"
	"	mov home(%rip), %rdx\n"
	"	push %rdx\n"
	"	ret\n"
	".size asm_leave, .-asm_leave\n");

FN void leaf(void)
{
	KEEP;
}
FN void finish(void)
{
	leaf();
	KEEP;
}
__attribute__((destructor)) FN void at_the_end(void)
{
	leaf();
	leaf();
	KEEP;
}
FN void down(int n)
{
	leaf();
	if (n)
		down(n - 1);
	else
		asm_leave(0);
	KEEP;
}
int main(void)
{
	home = __builtin_return_address(0);
	atexit(finish);
	down(3);
	return 1;
}
