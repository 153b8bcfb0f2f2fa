/* A call of the address of a slot, and one of what is in it. */
	.text
	.globl by_slot, main
	.type by_slot, @function
by_slot:
	.cfi_startproc
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	lea abort@GOTPCREL(%rip), %rax
	call *%rax
	mov abort@GOTPCREL(%rip), %rax
	mov %rax, %rdx
	call *%rdx
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size by_slot, .-by_slot
	.type main, @function
main:
	.cfi_startproc
	jmp by_slot
	.cfi_endproc
	.size main, .-main
	.section .note.GNU-stack,"",@progbits
