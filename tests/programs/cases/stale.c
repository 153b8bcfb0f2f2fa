// SPDX-License-Identifier: LGPL-2.1-or-later
/* stale.c: a function whose call frame information is wrong behind its return, as OCaml's are where
 * an error of bounds is raised out of a `try`: there it still gives the height of the code before.
 */
#include "case.h"

#include <setjmp.h>

static jmp_buf back;

FN void leaf(void)
{
	KEEP;
}
FN __attribute__((noreturn, used)) void fails(void)
{
	leaf();
	longjmp(back, 1);
}

int asm_get(int i);
__asm__(".text\n"
	".globl asm_get\n"
	".type asm_get,@function\n"
	"asm_get:\n"
	"	.cfi_startproc\n"
	"	sub $8,%rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	cmp $5,%edi\n"
	"	ja 2f\n"
	"	mov %edi,%eax\n"
	"	add $24,%rsp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"2:	call fails\n"
	"	.cfi_endproc\n"
	".size asm_get,.-asm_get\n");

FN int get(int i)
{
	if (setjmp(back))
		return -1;
	i = asm_get(i);
	KEEP;
	return i;
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 9; i++)
		sum += get(i);
	leaf();
	return sum != 12;
}
