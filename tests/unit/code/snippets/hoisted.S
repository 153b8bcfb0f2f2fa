/* A switch in a loop: the compiler has taken the table's address before the loop. Behind the call that
 * the loop ends with, and that it knows not to return, lies a case of the switch; so for all that the
 * code shows, other things that the register is used for may be in it at the jump. */
	.text
	.globl hoisted, main
	.type hoisted, @function
hoisted:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	lea cases(%rip), %rbx
again:	call next
	cmp $3, %eax
	ja 1f
	mov %eax, %eax
	movslq (%rbx,%rax,4), %rax
	add %rbx, %rax
	jmp *%rax
1:	xor %ebx, %ebx
	.irp n, 1, 2, 3, 4, 5, 6
	cmp $\n, %eax
	je 2f
	mov $\n, %ebx
	.endr
2:	mov %ebx, %edi
	call gone
case_0:	mov $7, %edi
	call next
	jmp again
case_1:	mov $8, %edi
	call next
	jmp again
case_2:	mov $9, %edi
	call next
	jmp again
case_3:	xor %eax, %eax
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size hoisted, . - hoisted

	.type next, @function
next:
	.cfi_startproc
	lea 1(%rdi), %eax
	ret
	.cfi_endproc
	.size next, . - next

	.type gone, @function
gone:
	.cfi_startproc
	ret
	.cfi_endproc
	.size gone, . - gone

	.type main, @function
main:
	.cfi_startproc
	xor %eax, %eax
	ret
	.cfi_endproc
	.size main, . - main

	.section .rodata
	.balign 4
cases:	.long case_0 - cases, case_1 - cases, case_2 - cases, case_3 - cases
	.section .note.GNU-stack, "", @progbits
