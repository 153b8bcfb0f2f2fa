// SPDX-License-Identifier: LGPL-2.1-or-later
/* kept.c: switches of stacks that little tells to be functions: one that keeps the address of its
 * own last instruction as where a stack goes on (minicoro's), right behind its jump and without
 * call frame information; and one that is bytes in an array, called by a pointer alone (libco's).
 * Where the first function of a stack would return to lies a number that is no address. */
#include "case.h"

#include <stdint.h>

#define STACK_WORDS (8 << 10)
#define NO_ADDRESS 0xdeaddeaddeaddead

struct context {
	void *ip, *sp, *saved[6];
};

__asm__(".text\n"
	".globl asm_switch\n"
	".type asm_switch,@function\n"
	/* void asm_switch(struct context *from, struct context *to) */
	"asm_switch:\n"
	"	lea 1f(%rip),%rax\n"
	"	mov %rax,(%rdi)\n"
	"	mov %rsp,8(%rdi)\n"
	"	mov %rbp,16(%rdi)\n"
	"	mov %rbx,24(%rdi)\n"
	"	mov %r12,32(%rdi)\n"
	"	mov %r13,40(%rdi)\n"
	"	mov %r14,48(%rdi)\n"
	"	mov %r15,56(%rdi)\n"
	"	mov 56(%rsi),%r15\n"
	"	mov 48(%rsi),%r14\n"
	"	mov 40(%rsi),%r13\n"
	"	mov 32(%rsi),%r12\n"
	"	mov 24(%rsi),%rbx\n"
	"	mov 16(%rsi),%rbp\n"
	"	mov 8(%rsi),%rsp\n"
	"	jmp *(%rsi)\n"
	"1:	ret\n"
	".size asm_switch,.-asm_switch\n"
	/* void (void **to, void **from), as data */
	".p2align 4\n"
	".type asm_array,@object\n"
	".globl asm_array\n"
	"asm_array:\n"
	"	mov %rsp,(%rsi)\n"
	"	mov (%rdi),%rsp\n"
	"	pop %rax\n"
	"	mov %rbp,8(%rsi)\n"
	"	mov %rbx,16(%rsi)\n"
	"	mov %r12,24(%rsi)\n"
	"	mov %r13,32(%rsi)\n"
	"	mov %r14,40(%rsi)\n"
	"	mov %r15,48(%rsi)\n"
	"	mov 8(%rdi),%rbp\n"
	"	mov 16(%rdi),%rbx\n"
	"	mov 24(%rdi),%r12\n"
	"	mov 32(%rdi),%r13\n"
	"	mov 40(%rdi),%r14\n"
	"	mov 48(%rdi),%r15\n"
	"	jmp *%rax\n"
	"	.zero 64\n"
	".size asm_array,.-asm_array\n"
	".section .note.GNU-stack,\"\",@progbits\n"
	".text\n");
void asm_switch(struct context *from, struct context *to);
extern const unsigned char asm_array[] __attribute__((visibility("hidden")));

static uint64_t stacks[2][STACK_WORDS];
static struct context home, fiber;
static void *place[2][8]; /* home's and the other's */
static void (*volatile swap)(void **to, void **from);

FN void leaf(void)
{
	KEEP;
}
FN void resume(void)
{
	asm_switch(&home, &fiber);
	leaf();
	KEEP;
}
FN void yield(int depth)
{
	if (depth > 1)
		yield(depth - 1);
	else
		asm_switch(&fiber, &home);
	leaf();
	KEEP;
}
FN void generator(void)
{
	for (int i = 1;; i++)
		yield(i);
}
FN void go(int to)
{
	swap(place[to], place[!to]);
	leaf();
	KEEP;
}
FN void partner(void)
{
	for (;;) {
		leaf();
		go(0);
	}
}
FN void prepare(void)
{
	uint64_t *at = stacks[0] + STACK_WORDS - 1;
	*at = NO_ADDRESS;
	fiber.sp = at;
	fiber.ip = (void *)generator;
	at = stacks[1] + STACK_WORDS - 1;
	*at-- = NO_ADDRESS;
	*at = (uint64_t)partner;
	place[1][0] = at;
	swap = (void (*)(void **, void **))asm_array;
	KEEP;
}
int main(void)
{
	prepare();
	for (int i = 0; i < 4; i++) {
		resume();
		go(1);
	}
	KEEP;
	return 0;
}
