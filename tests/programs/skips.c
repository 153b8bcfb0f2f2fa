/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* skips.c: a program that does not do what its code says: `skip` returns five bytes further on than
 * it was called from, which is behind the call at `first_call`; so the one at `second_call` is
 * next. */
#include <stdio.h>

__asm__(".text\n"
	".type skip, @function\n"
	"skip:\n"
	"	.cfi_startproc\n"
	"	addq $5, (%rsp)\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size skip, . - skip\n"
	".globl caller\n"
	".type caller, @function\n"
	"caller:\n"
	"	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call skip\n"
	"first_call:\n"
	"	call add_one\n"
	"second_call:\n"
	"	call add_two\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size caller, . - caller\n");

static int sum;

void add_one(void)
{
	sum++;
}

void add_two(void)
{
	sum += 2;
}

void caller(void);

int main(void)
{
	caller();
	printf("%d\n", sum);
	return 0;
}
