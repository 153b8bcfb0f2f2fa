// SPDX-License-Identifier: LGPL-2.1-or-later
/* masked.c: a switch over a field of a word that is masked where it lies, and not shifted all the
 * way down: what is left is a multiple of the size of the jump table's entries. So compilers do
 * with Erlang's tags. */
#include "case.h"

FN __attribute__((used)) void one(void)
{
	KEEP;
}
FN __attribute__((used)) void two(void)
{
	KEEP;
}
FN __attribute__((used)) void three(void)
{
	one();
	KEEP;
}

void asm_by_tag(unsigned word);
__asm__(".text\n"
	".globl asm_by_tag\n"
	".type asm_by_tag,@function\n"
	"asm_by_tag:\n"
	"	.cfi_startproc\n"
	"	sub $8,%rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %edi,%eax\n"
	"	lea 5f(%rip),%rcx\n"
	"	and $0xc,%eax\n"
	"	movslq (%rcx,%rax,1),%rax\n"
	"	add %rcx,%rax\n"
	"	jmp *%rax\n"
	"1:	call one\n"
	"	jmp 4f\n"
	"2:	call two\n"
	"	jmp 4f\n"
	"3:	call three\n"
	"4:	add $8,%rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size asm_by_tag,.-asm_by_tag\n"
	".section .rodata\n"
	".balign 4\n"
	"5:	.long 1b-5b, 2b-5b, 3b-5b, 4b-5b\n"
	".text\n");

FN void look(unsigned word)
{
	asm_by_tag(word);
	KEEP;
}
int main(void)
{
	for (unsigned word = 0; word < 32; word += 5)
		look(word);
	return 0;
}
