# SPDX-License-Identifier: LGPL-2.1-or-later
# flow.s: flow that a compiler seldom makes, each function with labels FUNCTION_BLOCK at the starts of
# its blocks; tests/e2e/paths.sh knows which of them run, in which order. bare_ has no CFI.
	.text
	.globl	main
main:	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	mov	$2, %edi
	call	table_entry
	mov	$0, %edi
	call	table_entry
	mov	$1, %edi
	call	table_entry
	mov	$7, %edi
	call	table_entry
	call	loop_entry
	mov	$0, %edi
	call	irreducible_entry
	mov	$1, %edi
	call	irreducible_entry
	call	goto_entry
	mov	$0, %ecx
	call	string_entry
	mov	$20, %ecx
	call	string_entry
	mov	$-3, %edi
	call	bare_entry
	mov	$3, %edi
	call	bare_entry
	xor	%eax, %eax
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	main, . - main

	.type	table_entry, @function
table_entry:
	.cfi_startproc
	cmp	$2, %edi
	ja	table_end
table_jump:
	mov	%edi, %edi
	lea	.Ltable(%rip), %rdx
	movslq	(%rdx,%rdi,4), %rax
	add	%rdx, %rax
	jmp	*%rax
table_zero:
	add	$1, %edi
table_two:
	add	$2, %edi
	jmp	table_end
table_one:
	add	$3, %edi
table_end:
	mov	%edi, %eax
	ret
	.cfi_endproc
	.size	table_entry, . - table_entry
	.section .rodata
	.balign	4
.Ltable:
	.long	table_zero - .Ltable, table_one - .Ltable, table_two - .Ltable
	.text

	.type	loop_entry, @function
loop_entry:
	.cfi_startproc
	xor	%ecx, %ecx
loop_round:
	test	$1, %cl
	jne	loop_odd
loop_even:
	add	$2, %eax
	jmp	loop_next
loop_odd:
	add	$1, %eax
loop_next:
	inc	%ecx
	cmp	$3, %ecx
	jne	loop_round
loop_end:
	ret
	.cfi_endproc
	.size	loop_entry, . - loop_entry

	.type	irreducible_entry, @function
irreducible_entry:
	.cfi_startproc
	mov	$2, %ecx
	test	%edi, %edi
	je	irreducible_top
irreducible_start:
	jmp	irreducible_middle
irreducible_top:
	add	$1, %eax
irreducible_middle:
	add	$2, %eax
	dec	%ecx
	jne	irreducible_top
irreducible_end:
	ret
	.cfi_endproc
	.size	irreducible_entry, . - irreducible_entry

	.type	goto_entry, @function
goto_entry:
	.cfi_startproc
	lea	.Lcode(%rip), %rsi
	mov	$1, %eax
	movzbl	(%rsi), %edx
	jmp	*.Lops(,%rdx,8)
goto_inc:
	add	$1, %eax
	inc	%rsi
	movzbl	(%rsi), %edx
	jmp	*.Lops(,%rdx,8)
goto_dbl:
	add	%eax, %eax
	inc	%rsi
	movzbl	(%rsi), %edx
	jmp	*.Lops(,%rdx,8)
goto_stop:
	ret
	.cfi_endproc
	.size	goto_entry, . - goto_entry
	.section .data.rel.ro, "aw"
	.balign	8
.Lops:	.quad	goto_inc, goto_dbl, goto_stop
	.section .rodata
.Lcode:	.byte	0, 1, 1, 0, 2
	.text

	.type	string_entry, @function
string_entry:
	.cfi_startproc
	lea	.Lbuffer(%rip), %rdi
	mov	$7, %al
	jrcxz	string_zero
string_copy:
	rep stosb
	lea	.Lbuffer(%rip), %rdi
	mov	$30, %ecx
	xor	%eax, %eax
	repne scasb
	je	string_found
string_zero:
	ret
string_found:
	ret
	.cfi_endproc
	.size	string_entry, . - string_entry
	.local	.Lbuffer
	.comm	.Lbuffer, 64, 16

	.type	bare_entry, @function
bare_entry:
	test	%edi, %edi
	jns	bare_end
bare_negative:
	neg	%edi
bare_end:
	mov	%edi, %eax
	ret
	.size	bare_entry, . - bare_entry
	.section .note.GNU-stack
