/* Call frame information that tells late of an `add $n,%rsp`, as LLVM has it that moved the instruction up; and such
 * that no compiler writes, whose heights are the largest that there are. */
	.text
	.globl late, main
	.type late, @function
late:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	add $24, %rsp
	cmp $-1, %edi
	je 1f
	.cfi_def_cfa_offset 8
	ret
1:	.cfi_def_cfa_offset 8
	xor %eax, %eax
	ret
	.cfi_endproc
	.size late, . - late

	.type absurd, @function
absurd:
	.cfi_startproc
	.cfi_def_cfa_offset 0x7ffffff8
	test %edi, %edi
	jne 2f
	add $-0x80000000, %rsp
	cmp $1, %edi
	je 1f
	.cfi_def_cfa_offset 8
	ret
1:	.cfi_def_cfa_offset 16
	ret
2:	.cfi_escape 0x13, 0x80, 0x80, 0x80, 0x80, 0x01 /* DW_CFA_def_cfa_offset_sf: 2^28 times -8 */
	ret
	.cfi_endproc
	.size absurd, . - absurd

	.type main, @function
main:
	.cfi_startproc
	call late
	call absurd
	ret
	.cfi_endproc
	.size main, . - main
	.section .note.GNU-stack,"",@progbits
