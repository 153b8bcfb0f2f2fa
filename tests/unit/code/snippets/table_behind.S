# SPDX-License-Identifier: LGPL-2.1-or-later
# A function, and bytes that are no code behind it: many of the value FILL, and what BEHIND says.
	.text
	.globl _start
	.type _start, @function
_start:	.cfi_startproc
	xor %edi, %edi
	mov $60, %eax
	syscall
	ud2
	.cfi_endproc
	.size _start, .-_start
	.fill 300000, 1, FILL
	BEHIND
	.section .note.GNU-stack, "", @progbits
