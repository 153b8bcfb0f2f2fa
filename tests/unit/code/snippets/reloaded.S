/* An interpreter whose dispatch has the table's address in a register that calls overwrite: each of
 * its 90 cases that calls has it loaded again. */
	.section .rodata.cases, "a"
	.balign 4
cases:
	.text
	.globl reloaded, main
	.type reloaded, @function
reloaded:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	mov %rdi, %rbx
	lea cases(%rip), %r8
again:	movzbl (%rbx), %eax
	inc %rbx
	cmp $90, %eax
	ja done
	movslq (%r8,%rax,4), %rax
	add %r8, %rax
	jmp *%rax
	.set n, 0
	.rept 90
	.section .rodata.cases, "a"
	.long 1f - cases
	.text
1:	mov $n, %edi
	call *handler(%rip)
	lea cases(%rip), %r8
	jmp again
	.set n, n + 1
	.endr
last:	nop
done:	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size reloaded, . - reloaded

	.type main, @function
main:
	.cfi_startproc
	xor %eax, %eax
	ret
	.cfi_endproc
	.size main, . - main

	.section .rodata.cases, "a"
	.long last - cases
	.data
handler:
	.quad main
	.section .note.GNU-stack, "", @progbits
