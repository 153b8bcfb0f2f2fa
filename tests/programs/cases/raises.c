// SPDX-License-Identifier: LGPL-2.1-or-later
/* raises.c: exceptions as OCaml's compiler raises them: what handles one is pushed with a link to
 * the handler before it, and to raise is to take the stack pointer from where the innermost is
 * kept, pop the link, and return to it or jump there. */
#include "case.h"

int asm_try(int (*body)(int), int n);
_Noreturn void asm_raise(int n);
void *handler;
int raised, slow;
int pass(void);
int (*then)(void) = pass;

/* C keeps these over calls, OCaml none. */
#define SAVE                                                                                       \
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n\t"                     \
	".cfi_adjust_cfa_offset 48\n\t"
#define RESTORE                                                                                    \
	"mov (%rsp), %r15; mov 8(%rsp), %r14; mov 16(%rsp), %r13; mov 24(%rsp), %r12\n\t"          \
	"mov 32(%rsp), %rbp; mov 40(%rsp), %rbx; add $48, %rsp\n\t"                                \
	".cfi_adjust_cfa_offset -48\n\t"

__asm__(".text\n\t"
	".globl asm_try\n\t"
	".type asm_try, @function\n"
	"asm_try:\n\t"
	".cfi_startproc\n\t" SAVE "lea handler(%rip), %r8\n\t"
	"lea 1f(%rip), %rdx\n\t"
	"push %rdx\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	"push (%r8)\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	"mov %rsp, (%r8)\n\t"
	"sub $8, %rsp\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	"mov %rdi, %rax\n\t"
	"mov %esi, %edi\n\t"
	"call *%rax\n\t"
	"lea handler(%rip), %r8\n\t"
	"add $8, %rsp\n\t"
	".cfi_adjust_cfa_offset -8\n\t"
	"pop (%r8)\n\t"
	".cfi_adjust_cfa_offset -8\n\t"
	"add $8, %rsp\n\t"
	".cfi_adjust_cfa_offset -8\n\t" RESTORE "ret\n"
	"1:\n\t"
	".cfi_adjust_cfa_offset 48\n\t"
	"sub $8, %rsp\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	"call handled\n\t"
	"lea then(%rip), %rcx\n\t"
	"add $8, %rsp\n\t"
	".cfi_adjust_cfa_offset -8\n\t" RESTORE "mov (%rcx), %rcx\n\t"
	"jmp *%rcx\n\t"
	".cfi_endproc\n\t"
	".size asm_try, . - asm_try\n\t"
	".data\n\t"
	".quad 1b\n\t" /* as OCaml's tables hold what calls return to */
	".text\n\t"
	".globl asm_raise\n\t"
	".type asm_raise, @function\n"
	"asm_raise:\n\t"
	".cfi_startproc\n\t"
	"lea raised(%rip), %rax\n\t"
	"mov %edi, (%rax)\n\t"
	"lea slow(%rip), %rax\n\t"
	"lea handler(%rip), %r8\n\t"
	"cmpl $0, (%rax)\n\t"
	"jne 2f\n\t"
	"mov (%r8), %rsp\n\t"
	"pop (%r8)\n\t"
	"ret\n"
	"2:\n\t"
	"sub $8, %rsp\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	"call note\n\t"
	"lea handler(%rip), %r8\n\t"
	"mov (%r8), %rsp\n\t"
	"pop (%r8)\n\t"
	"pop %r11\n\t"
	"jmp *%r11\n\t"
	".cfi_endproc\n\t"
	".size asm_raise, . - asm_raise\n");

FN void leaf(void)
{
	KEEP;
}
FN void note(void)
{
	leaf();
	KEEP;
}
FN int handled(void)
{
	leaf();
	KEEP;
	return raised;
}
FN int pass(void)
{
	KEEP;
	return raised;
}
FN int deep(int n)
{
	leaf();
	if (n < 0)
		asm_raise(n);
	if (n % 4 == 0)
		asm_raise(n + 1);
	int sum = deep(n - 1) + 1;
	KEEP;
	return sum;
}
FN int quiet(int n)
{
	if (n % 2)
		asm_raise(n);
	KEEP;
	return n;
}
FN int nested(int n)
{
	int sum = asm_try(deep, n) + asm_try(quiet, n);
	slow = n % 3 == 0;
	if (sum > 8)
		asm_raise(sum);
	KEEP;
	return sum;
}
int main(void)
{
	int sum = 0;
	for (int i = 1; i < 8; i++)
		sum += asm_try(nested, i);
	leaf();
	KEEP;
	return sum == 0;
}
