/* Jumps right behind a push. One begins a context: what was pushed is where its callee returns, to the place
 * behind, whose address only code takes. The others go by tables, whose first case lies behind them. */
	.text
	.globl make, by_word, main
	.type make, @function
make:
	lea begin(%rip), %rax
	mov %rax, (%rdi)
	lea 1f(%rip), %rax
	mov %rax, 8(%rdi)
	ret
	.size make, . - make
	.type begin, @function
begin:
	push %rbp
	jmp *%rbx
1:	xor %edi, %edi
	call exit
	hlt
	.size begin, . - begin

	.macro table name
	.type \name, @function
\name:
	cmp $2, %edi
	ja 4f
	mov %edi, %edi
	push %rbx
	jmp *5f(,%rdi,8)
1:	pop %rbx
	ret
2:	pop %rbx
	mov $1, %eax
	ret
3:	pop %rbx
	mov $2, %eax
4:	ret
	.size \name, . - \name
	.section .rodata
	.balign 8
5:	.quad 1b, 2b, 3b
	.text
	.endm
	.cfi_startproc
	table by_word
	.cfi_endproc
	table undescribed

	.type main, @function
main:
	.cfi_startproc
	call make
	call by_word
	call undescribed
	xor %eax, %eax
	ret
	.cfi_endproc
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
