/* A function that nothing but the immediate of an instruction names, and a word of data that leads
 * into the middle of its first instruction, where the text lies so that this word is of letters. With
 * NUMBER, what stands before the word in the data is no string. */
	.text
	.globl main
	.type main, @function
main:
	movq $.Lnamed, -16(%rsp)
	call *-16(%rsp)
	ret
	.size main, . - main
	.balign 4096
	.fill 30, 1, 0xcc
.Lnamed:
	/* Behind its first two bytes, at a multiple of 16: xor %rax,%rax; ret. */
	movabs $0x90909090c3c03148, %rax
	ret

	.data
	.balign 16
#ifdef NUMBER
	.quad 1, 2
#else
	.ascii "strange closure "
#endif
	.quad .Lnamed + 2
	.quad 0
	.section .note.GNU-stack, "", @progbits
