/* Switches as Free Pascal has them: what is above the index in its register is cleared with `and`. Three
 * have no call frame information, as all of its code, and are found by a call. */
	.text
	.globl half, byte, main
	.macro switch name, table, compared, clear, sum="add %rdx, %rax"
	.type \name, @function
\name:
	mov %edi, %eax
	cmp $2, \compared
	ja 1f
	\clear
	lea \table(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	\sum
	jmp *%rax
1:	xor %eax, %eax
	ret
2:	mov $7, %eax
	ret
3:	mov $8, %eax
	ret
4:	mov $9, %eax
	ret
	.size \name, . - \name
	.section .rodata
	.balign 4
\table:	.long 2b - \table, 3b - \table, 4b - \table, 1b - \table
	.text
	.endm

	.cfi_startproc
	switch half, halves, %eax, "and %eax, %eax"
	.cfi_endproc
	.cfi_startproc
	switch byte, bytes, %al, "and $0xff, %eax"
	.cfi_endproc
	switch unknown, others, %al, "and $0xff, %eax"
	switch summed, sums, %al, "and $0xff, %eax", "lea (%rdx,%rax,1), %rax"
	switch cleared, upper, %eax, "and $0xffffffff, %eax", "lea (%rdx,%rax,1), %rax"

	.type main, @function
main:
	.cfi_startproc
	call unknown
	call summed
	call cleared
	xor %eax, %eax
	ret
	.cfi_endproc
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
