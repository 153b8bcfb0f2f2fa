/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sample.S: one of each kind of call, jump and return, in an order known beforehand; what `calls`
 * must print for it is in sample.expected. Written in assembly so that no compiler has a say. */
	.text

	.macro function name
	.globl \name
	.type \name, @function
	.balign 16
\name:
	.cfi_startproc
	.endm
	.macro done name
	.cfi_endproc
	.size \name, . - \name
	.endm
	.macro enter_frame
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	.endm
	.macro leave_frame
	pop %rbx
	.cfi_def_cfa_offset 8
	.endm

function leaf
	ret
	done leaf

function other
	ret
	done other

function chain /* a tail call */
	jmp leaf
	done chain

function conditional /* a tail call if edi is not 0 */
	test %edi, %edi
	jne leaf
	ret
	done conditional

function indirect_tail
	lea other(%rip), %rax
	jmp *%rax
	done indirect_tail

function import_tail /* a tail call out of the module */
	jmp getpid@plt
	done import_tail

function runs_on /* into the next function, which follows without padding */
	xor %eax, %eax
	.cfi_endproc
	.size runs_on, . - runs_on
	.globl next
	.type next, @function
next:
	.cfi_startproc
	ret
	done next

function recurse /* edi levels down */
	enter_frame
	dec %edi
	jle 1f
	call recurse
1:	leave_frame
	ret
	done recurse

function order /* called back by qsort */
	mov (%rdi), %eax
	sub (%rsi), %eax
	ret
	done order

function handler
	enter_frame
	call leaf
	movl $1, flag(%rip)
	leave_frame
	ret
	done handler

function deep /* does not return here */
	enter_frame
	lea buffer(%rip), %rdi
	mov $1, %esi
	call longjmp@plt
	ud2
	done deep

function thread
	enter_frame
	call leaf
	xor %eax, %eax
	leave_frame
	ret
	done thread

function switcher /* a jump table of three */
	cmp $2, %edi
	ja 4f
	mov %edi, %edi
	lea table(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
1:	xor %eax, %eax
	ret
2:	jmp 1b
3:	ret
4:	ud2
	.section .rodata
	.balign 4
table:	.long 1b - table, 2b - table, 3b - table
	.text
	done switcher

function main
	enter_frame
	call leaf
	call chain
	xor %edi, %edi
	call conditional
	mov $1, %edi
	call conditional
	lea leaf(%rip), %rax
	call *%rax
	call *pointer(%rip)
	call indirect_tail
	call import_tail
	call runs_on
	mov $3, %edi
	call recurse
	/* Jump tables, and a rep that QEMU enters again for each round. */
	mov $2, %ebx
1:	mov %ebx, %edi
	call switcher
	dec %ebx
	jns 1b
	lea from(%rip), %rsi
	lea buffer(%rip), %rdi
	mov $100, %ecx
	rep movsb
	/* A callback of another module. */
	lea pair(%rip), %rdi
	mov $2, %esi
	mov $4, %edx
	lea order(%rip), %rcx
	call qsort@plt
	/* A handler that runs in the middle of a call, and one that interrupts a loop. */
	mov $10, %edi
	lea handler(%rip), %rsi
	call signal@plt
	mov $10, %edi
	call raise@plt
	mov $14, %edi
	lea handler(%rip), %rsi
	call signal@plt
	movl $0, flag(%rip)
	mov $2000, %edi
	xor %esi, %esi
	call ualarm@plt
2:	cmpl $0, flag(%rip)
	je 2b
	/* Out of two frames at once. */
	lea buffer(%rip), %rdi
	call _setjmp@plt
	test %eax, %eax
	jne 3f
	call deep
	/* A thread and a child of its own. */
3:	lea id(%rip), %rdi
	xor %esi, %esi
	lea thread(%rip), %rdx
	xor %ecx, %ecx
	call pthread_create@plt
	mov id(%rip), %rdi
	xor %esi, %esi
	call pthread_join@plt
	call fork@plt
	test %eax, %eax
	jne 4f
	call other
	xor %edi, %edi
	call _exit@plt
4:	mov %eax, %edi
	xor %esi, %esi
	xor %edx, %edx
	call waitpid@plt
	xor %eax, %eax
	leave_frame
	ret
	done main

	.section .data.rel.local, "aw"
pointer: .quad other
	.data
pair:	.long 2, 1
	.bss
flag:	.space 8
id:	.space 8
from:	.space 128
	.balign 16
buffer:	.space 512
	.section .note.GNU-stack, "", @progbits
