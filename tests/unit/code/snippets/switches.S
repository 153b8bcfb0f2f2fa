# SPDX-License-Identifier: LGPL-2.1-or-later
# switches.S: functions that leave the stack they were called on (yes_*), as coroutine libraries and
# run-time systems have them, and what only looks like that (no_*), as compilers and C libraries do.
	.text
	.macro	begin name
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm
	.macro	end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	# void (void **save, void *to), as libco's
	begin	yes_argument
	push	%rbp
	push	%rbx
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	pop	%rbx
	pop	%rbp
	ret
	end	yes_argument

	# void (struct *from, struct *to), as Ruby's and libcoro's
	begin	yes_memory
	push	%rbp
	mov	%rsp, (%rdi)
	mov	(%rsi), %rsp
	pop	%rbp
	ret
	end	yes_memory

	# a structure in a structure, by way of registers
	begin	yes_far_memory
	mov	%rdi, %rax
	add	$16, %rax
	mov	8(%rax), %rcx
	mov	%rsp, (%rcx)
	mov	0x30(%rcx), %r8
	mov	0x38(%rcx), %rdx
	mov	%r8, %rsp
	jmp	*%rdx
	end	yes_far_memory

	begin	yes_global
	mov	place(%rip), %rax
	mov	%rsp, place(%rip)
	mov	%rax, %rsp
	ret
	end	yes_global

	# the place is computed into the stack pointer, or exchanged with it
	begin	yes_lea
	mov	%rsp, (%rsi)
	lea	-64(%rdi), %rsp
	jmp	*%rdx
	end	yes_lea
	begin	yes_exchange
	xchg	%rsp, %rdi
	mov	%rdi, (%rsi)
	ret
	end	yes_exchange

	# saved across a call, in a register and in the frame
	begin	yes_after_call
	push	%rbx
	.cfi_adjust_cfa_offset 8
	mov	%rdi, %rbx
	call	no_plain
	mov	(%rbx), %rsp
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	end	yes_after_call
	begin	yes_spilled
	push	%rbp
	.cfi_adjust_cfa_offset 8
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	sub	$32, %rsp
	mov	%rdi, -8(%rbp)
	call	no_plain
	mov	-8(%rbp), %rax
	mov	(%rax), %rsp
	ret
	end	yes_spilled

	# calls a function on a stack of its own, and comes back: as stacker's of Rust
	begin	yes_calls_there
	push	%rbp
	.cfi_def_cfa %rbp, 16
	mov	%rsp, %rbp
	mov	%rcx, %rsp
	call	*%rdx
	mov	%rbp, %rsp
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	end	yes_calls_there

	# longjmp of a library that does not mangle what it keeps
	begin	yes_longjmp
	mov	(%rdi), %rbx
	mov	8(%rdi), %rbp
	mov	48(%rdi), %rsp
	mov	%esi, %eax
	jmp	*56(%rdi)
	end	yes_longjmp

	begin	no_plain
	lea	1(%rdi), %rax
	ret
	end	no_plain

	begin	no_alloca
	push	%rbp
	.cfi_def_cfa %rbp, 16
	mov	%rsp, %rbp
	lea	15(%rdi), %rax
	and	$-16, %rax
	sub	%rax, %rsp
	mov	%rsp, %rdi
	call	no_plain
	mov	%rsp, %rdx
	sub	%rax, %rdx
	mov	%rdx, %rsp
	leave
	.cfi_def_cfa %rsp, 8
	ret
	end	no_alloca

	# an array of a variable length in a block: the stack pointer is kept in the frame
	begin	no_array
	push	%rbp
	.cfi_def_cfa %rbp, 16
	mov	%rsp, %rbp
	sub	$32, %rsp
	mov	%rsp, -8(%rbp)
	sub	%rdi, %rsp
	mov	%rsp, %rdi
	call	no_plain
	mov	-8(%rbp), %rsp
	mov	%rsp, %rbx
	call	no_plain
	mov	%rbx, %rsp
	lea	-8(%rbp), %rsp
	pop	%rbp
	ret
	end	no_array

	# a slot that an argument was in before
	begin	no_slot_used_again
	push	%rbp
	.cfi_def_cfa %rbp, 16
	mov	%rsp, %rbp
	mov	%rdi, -8(%rbp)
	mov	%rsp, -8(%rbp)
	mov	-8(%rbp), %rsp
	pop	%rbp
	ret
	end	no_slot_used_again

	# probes of a large frame, page by page, by gcc and by clang
	begin	no_probes
	lea	-0x10000(%rsp), %r11
1:	sub	$0x1000, %rsp
	orq	$0, (%rsp)
	cmp	%r11, %rsp
	jne	1b
	add	$0x10000, %rsp
	mov	%rsp, %rax
	sub	$0x2000, %rax
	movq	$0, (%rax)
	mov	%rax, %rsp
	add	$0x2000, %rsp
	ret
	end	no_probes

	# the stack pointer kept across a helper, as cryptography by hand has it
	begin	no_own_convention
	mov	%rsp, %rax
	sub	$0x80, %rsp
	call	no_plain
	lea	(%rax), %rsp
	ret
	end	no_own_convention

	# a frame that is aligned at run time, by gcc's main() and by its other functions
	begin	no_realignment
	lea	8(%rsp), %rcx
	and	$-32, %rsp
	push	-8(%rcx)
	push	%rbp
	mov	%rsp, %rbp
	push	%rcx
	call	no_plain
	mov	-8(%rbp), %rcx
	leave
	lea	-8(%rcx), %rsp
	ret
	end	no_realignment
	begin	no_realignment_by_r10
	lea	8(%rsp), %r10
	and	$-32, %rsp
	push	-8(%r10)
	push	%rbp
	mov	%rsp, %rbp
	push	%r10
	sub	$0x28, %rsp
	call	no_plain
	add	$0x28, %rsp
	pop	%r10
	pop	%rbp
	lea	-8(%r10), %rsp
	ret
	end	no_realignment_by_r10

	# a prologue only on the way that needs it; the other uses the registers as it likes
	begin	no_split_prologue
	test	%rdi, %rdi
	je	1f
	push	%rbp
	mov	%rsp, %rbp
	call	no_plain
	lea	-16(%rbp), %rsp
	add	$16, %rsp
	pop	%rbp
	ret
1:	mov	(%rsi), %rax
	ret
	end	no_split_prologue

	# the way back from a signal handler, and longjmp as the GNU C library has it
	begin	no_trampoline
	mov	$15, %rax
	syscall
	ud2
	end	no_trampoline
	begin	no_mangled_longjmp
	mov	48(%rdi), %r8
	mov	56(%rdi), %rdx
	ror	$0x11, %r8
	xor	%fs:0x30, %r8
	ror	$0x11, %rdx
	xor	%fs:0x30, %rdx
	mov	%esi, %eax
	mov	%r8, %rsp
	jmp	*%rdx
	end	no_mangled_longjmp

	# ---- who calls them ----

	begin	calls_it
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	yes_memory
	call	no_plain
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	end	calls_it
	begin	jumps_to_it
	mov	%rdx, %rdi
	jmp	yes_memory
	end	jumps_to_it
	begin	calls_what_jumps_to_it
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	jumps_to_it
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	end	calls_what_jumps_to_it
	begin	calls_by_pointer
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	*%rdx
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	end	calls_by_pointer

	.globl	main
	.type	main, @function
main:
	.cfi_startproc
	xor	%eax, %eax
	ret
	.cfi_endproc
	.size	main, . - main

#ifdef POINTER
	.data
	.quad	yes_memory
#endif
	.local	place
	.comm	place, 8, 8
	.section .note.GNU-stack, "", @progbits
