// SPDX-License-Identifier: LGPL-2.1-or-later
/* fibers.c: stacks switched by a few instructions of our own, as coroutine libraries do it: one
 * that returns into what it switches to, as libco; one that hands a value over and jumps, by way of
 * a start of its own, as Boost.Context; called directly, through a pointer and by a tail call. */
#include "case.h"

#include <stdint.h>

#define STACK_WORDS (8 << 10)

/* void asm_switch(void **save, void *to): what is saved is where it returns to. */
__asm__(".text\n"
	".globl asm_switch\n"
	".type asm_switch,@function\n"
	"asm_switch:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp,(%rdi)\n"
	"	mov %rsi,%rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size asm_switch,.-asm_switch\n"
	/* void *asm_jump(void *to): returns the place that was left, there. */
	".globl asm_jump\n"
	".type asm_jump,@function\n"
	"asm_jump:\n"
	"	.cfi_startproc\n"
	"	lea -0x38(%rsp),%rsp\n"
	"	mov %r12,(%rsp)\n"
	"	mov %r13,8(%rsp)\n"
	"	mov %r14,16(%rsp)\n"
	"	mov %r15,24(%rsp)\n"
	"	mov %rbx,32(%rsp)\n"
	"	mov %rbp,40(%rsp)\n"
	"	mov %rsp,%rax\n"
	"	mov %rdi,%rsp\n"
	"	mov 0x38(%rsp),%r8\n"
	"	mov (%rsp),%r12\n"
	"	mov 8(%rsp),%r13\n"
	"	mov 16(%rsp),%r14\n"
	"	mov 24(%rsp),%r15\n"
	"	mov 32(%rsp),%rbx\n"
	"	mov 40(%rsp),%rbp\n"
	"	lea 0x40(%rsp),%rsp\n"
	"	mov %rax,%rdi\n"
	"	jmp *%r8\n"
	"	.cfi_endproc\n"
	".size asm_jump,.-asm_jump\n"
	/* The first function of a stack for it: calls rbx, which does not return. */
	".globl asm_start\n"
	".type asm_start,@function\n"
	"asm_start:\n"
	"	.cfi_startproc\n"
	"	call *%rbx\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size asm_start,.-asm_start\n"
	".section .note.GNU-stack,\"\",@progbits\n"
	".text\n");
void asm_switch(void **save, void *to);
void *asm_jump(void *to);
void asm_start(void);

static uint64_t stacks[3][STACK_WORDS];
static void *home, *fiber[3], *peer;
static int next_value, left;
static void (*volatile by_pointer)(void **save, void *to);

FN void leaf(void)
{
	KEEP;
}

/* ---- as libco ---- */

FN void *make(int n, void (*body)(void))
{
	uint64_t *at = stacks[n] + STACK_WORDS;
	*--at = 0; /* where @body would return to */
	*--at = 0;
	*--at = (uint64_t)body;
	KEEP;
	return at - 6;
}
FN void resume(int n)
{
	asm_switch(&home, fiber[n]);
	leaf();
	KEEP;
}
FN void yield(int n, int value)
{
	next_value = value;
	asm_switch(&fiber[n], home);
	KEEP;
}
FN void yield_by_jump(int n)
{
	leaf();
	asm_switch(&fiber[n], home);
}
FN void yield_by_pointer(int n)
{
	by_pointer(&fiber[n], home);
	KEEP;
}
FN void generate(int depth)
{
	if (depth > 1)
		generate(depth - 1);
	yield(0, depth);
	leaf();
	KEEP;
}
FN void generator(void)
{
	for (;;) {
		generate(3);
		yield(0, 0);
	}
}
FN void counter(void)
{
	for (int i = 0;; i++) {
		if (i % 2)
			yield_by_jump(1);
		else
			yield_by_pointer(1);
		leaf();
	}
}

/* ---- as Boost.Context ---- */

FN void *make_start(int n, void (*body)(void *from))
{
	uint64_t *at = stacks[n] + STACK_WORDS - 10;
	at[4] = (uint64_t)body;
	at[7] = (uint64_t)asm_start;
	KEEP;
	return at;
}
FN void transfer(void)
{
	peer = asm_jump(peer);
	leaf();
	KEEP;
}
FN void partner(void *from)
{
	peer = from;
	leaf();
	while (left-- > 0)
		transfer();
	leaf();
	left = -1;
	asm_jump(peer);
	KEEP;
}
FN void partners(void)
{
	left = 3;
	peer = make_start(2, partner);
	while (left >= 0)
		transfer();
	KEEP;
}
int main(void)
{
	by_pointer = asm_switch;
	fiber[0] = make(0, generator);
	fiber[1] = make(1, counter);
	for (int i = 0; i < 6; i++) {
		resume(0);
		resume(1);
	}
	partners();
	partners();
	leaf();
	KEEP;
	return 0;
}
