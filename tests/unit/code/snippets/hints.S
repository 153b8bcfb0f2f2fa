/* What a lea names, and eight letters of data that read as an address in the middle of it. Without
 * call frame information and, for the function, without a name. */
	.text
	.globl main
	.type main, @function
main:
	push %rbx
	lea .Lnamed(%rip), %rbx
	call *%rbx
	pop %rbx
	ret
	.size main, . - main
	.type named_object, @object
	.globl named_object
	.balign 16
	.fill 14, 1, 0xcc
named_object:
.Lnamed:
	/* Behind its first two bytes, at a multiple of 16: xor %rax,%rax; ret. */
	movabs $0x90909090c3c03148, %rax
	call leaf
	add $1, %rax
	ret
	.size named_object, . - named_object
	.type leaf, @function
leaf:
	xor %eax, %eax
	ret
	.size leaf, . - leaf

	.data
	.balign 8
letters:
	.quad .Lnamed + 2
	.section .note.GNU-stack, "", @progbits
