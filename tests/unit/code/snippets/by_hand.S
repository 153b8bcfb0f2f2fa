# SPDX-License-Identifier: LGPL-2.1-or-later
# by_hand.S: control flow that compilers do not make and C libraries have: a function that runs into
# the next one, a jump into another's middle, one past a lock prefix, and code without an FDE.
	.text
	.globl	by_hand
	.type	by_hand, @function
by_hand:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	without_fde
	add	%eax, %edi
	call	runs_on
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	cmp	$2, %edi
	jne	.Linside
	ret
	.cfi_endproc
	.size	by_hand, . - by_hand

	.p2align 4
	.type	jumps_into, @function
jumps_into:
	.cfi_startproc
	test	%edi, %edi
	jle	.Lhalfway
	jmp	.Lfarther
	.cfi_endproc
	.size	jumps_into, . - jumps_into
	.type	leaves_both_ways, @function
leaves_both_ways:
	.cfi_startproc
	cmp	$9, %edi
	ja	.Lfarther
.Lhalfway:
	lea	2(%rdi), %eax
	ret
.Lfarther:
	lea	3(%rdi), %eax
	ret
	.cfi_endproc
	.size	leaves_both_ways, . - leaves_both_ways

	.p2align 4
	.type	runs_on, @function
runs_on:
	.cfi_startproc
	mov	%edi, %eax
	.cfi_endproc
	.size	runs_on, . - runs_on
	.type	run_into, @function
run_into:
	.cfi_startproc
	test	%eax, %eax
	je	1f
	lock
1:	incl	counter(%rip)
.Linside:
	lea	1(%rdi), %eax
	ret
	.cfi_endproc
	.size	run_into, . - run_into

	.p2align 4
without_fde:
	push	%rbx
	mov	%edi, %ebx
	mov	%edi, %eax
	call	leaf_without_fde
	pop	%rbx
	ret
	.byte	0x06, 0x07		# no instructions
	.p2align 4
leaf_without_fde:
	xor	%eax, %eax
	loop	2f
2:	ret

	.bss
	.p2align 2
counter: .long	0
	.section .note.GNU-stack, "", @progbits
