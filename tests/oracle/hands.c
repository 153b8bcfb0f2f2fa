// SPDX-License-Identifier: LGPL-2.1-or-later
/* hands.c: for selftest.sh, a program and (-DLIBRARY) a library of its own, whose code is of
 * another module. The library jumps to a function of the program as its last step, calls one, and
 * jumps to one a call deeper; and the program leaves calls by a ret to a handler, as OCaml's raise
 * does. */
#ifdef LIBRARY
__asm__(".globl jumps_on, calls_back, deeper\n"
	".type jumps_on, @function; .type calls_back, @function; .type deeper, @function\n"
	"jumps_on: jmp *%rdi\n"
	"calls_back: sub $8, %rsp; call *%rdi; add $8, %rsp; ret\n"
	"deeper: sub $8, %rsp; call *%rsi; add $8, %rsp; ret\n");
#else
typedef void callee(void);
extern void jumps_on(callee *, void *), calls_back(callee *, void *), deeper(callee *, void *);
extern void catches(void);

static void __attribute__((noinline)) ours(void)
{
	__asm__ volatile("");
}

__asm__(".text\n"
	".type catches, @function; .type raises, @function\n"
	"catches: .cfi_startproc; push %rbx; .cfi_def_cfa_offset 16; .cfi_offset %rbx, -16\n"
	"	lea 1f(%rip), %rax; mov %rsp, %rdx; call raises; ud2\n"
	"1:	pop %rbx; .cfi_def_cfa_offset 8; ret; .cfi_endproc; .size catches, . - catches\n"
	"raises: .cfi_startproc; mov %rdx, %rsp; push %rax; ret; .cfi_endproc\n"
	".size raises, . - raises\n");

int main(void)
{
	void (*volatile by[])(callee *, void *) = {jumps_on, calls_back, deeper};

	for (int i = 0; i < 3; i++)
		by[i](ours, jumps_on);
	catches();
	return 0;
}
#endif
