/* Two jumps through tables by a byte. The one of `whole` has an entry for each value of it; the one of
 * `short` ends before, where another table begins that does not lead into the function. */
	.text
	.globl whole, short, main
	.type whole, @function
whole:
	.cfi_startproc
	movzbl (%rdi), %eax
	lea all(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
one:	mov $1, %eax
	ret
two:	mov $2, %eax
	ret
	.cfi_endproc
	.size whole, . - whole

	.type short, @function
short:
	.cfi_startproc
	movzbl (%rdi), %eax
	lea few(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	jmp *%rax
three:	mov $3, %eax
	ret
four:	mov $4, %eax
	ret
	.cfi_endproc
	.size short, . - short

	.type main, @function
main:
	.cfi_startproc
	xor %eax, %eax
	ret
	.cfi_endproc
	.size main, . - main

	.section .rodata
	.balign 4
all:	.rept 128
	.long one - all, two - all
	.endr
few:	.long three - few, four - few
	.long 0, 0, 0
	.section .note.GNU-stack, "", @progbits
