/* An interpreter of 2,000 handlers, each of which goes straight to the next one's; and behind it a
 * function with a switch of four cases. */
	.text
	.globl interpreter, small
	.type interpreter, @function
interpreter:
	.cfi_startproc
	lea handlers(%rip), %r11
	mov (%rdi), %rax
	jmp *(%r11,%rax,8)
	.section .data.rel.ro, "aw"
handlers:
	.text
	.rept 2000
1:	add $8, %rdi
	mov (%rdi), %rax
	jmp *(%r11,%rax,8)
	.section .data.rel.ro
	.quad 1b
	.text
	.endr
	.cfi_endproc
	.size interpreter, . - interpreter

	.type small, @function
small:
	.cfi_startproc
	cmp $3, %edi
	ja 1f
	mov %edi, %edi
	lea cases(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
1:	xor %eax, %eax
	ret
2:	mov $7, %eax
	ret
3:	mov $8, %eax
	ret
4:	mov $9, %eax
	ret
5:	mov $10, %eax
	ret
	.cfi_endproc
	.size small, . - small

	.globl main
	.type main, @function
main:
	.cfi_startproc
	call interpreter
	mov %eax, %edi
	jmp small
	.cfi_endproc
	.size main, . - main

	.section .rodata
	.p2align 2
cases:	.long 2b - cases, 3b - cases, 4b - cases, 5b - cases
	.section .note.GNU-stack, "", @progbits
