// SPDX-License-Identifier: LGPL-2.1-or-later
/* begun.c: contexts as Boost.Context makes them, here part of the program, as in PHP and in what
 * links it statically: the first thing on a new stack is code that pushes where the first function
 * is to return to, and jumps there. Some take turns, one is left in the middle and its stack used
 * again, and the last one's first function returns: that ends the program. */
#include "case.h"

#include <stdlib.h>

#define STACK_BYTES (64 << 10)

typedef void *context;

context asm_make(void *stack, size_t bytes, void (*body)(context));
context asm_jump(context to);
__asm__(".text\n.globl asm_make\n.type asm_make,@function\nasm_make:\n"
	"lea -0x40(%rdi,%rsi),%rax\n and $-16,%rax\n mov %rdx,0x10(%rax)\n"
	"lea asm_begin(%rip),%rcx\n mov %rcx,0x30(%rax)\n"
	"lea 1f(%rip),%rcx\n mov %rcx,0x18(%rax)\n ret\n.size asm_make,.-asm_make\n"
	".type asm_begin,@function\nasm_begin:\n"
	"push %rbp\n jmp *%rbx\n"
	"1: xor %edi,%edi\n call _exit@PLT\n hlt\n.size asm_begin,.-asm_begin\n"
	".globl asm_jump\n.type asm_jump,@function\nasm_jump:\n"
	"lea -0x30(%rsp),%rsp\n mov %r12,(%rsp)\n mov %r13,0x8(%rsp)\n mov %rbx,0x10(%rsp)\n"
	"mov %rbp,0x18(%rsp)\n mov %r14,0x20(%rsp)\n mov %r15,0x28(%rsp)\n mov %rsp,%rax\n"
	"mov %rdi,%rsp\n mov 0x30(%rsp),%r8\n mov (%rsp),%r12\n mov 0x8(%rsp),%r13\n"
	"mov 0x10(%rsp),%rbx\n mov 0x18(%rsp),%rbp\n mov 0x20(%rsp),%r14\n mov 0x28(%rsp),%r15\n"
	"lea 0x38(%rsp),%rsp\n mov %rax,%rdi\n jmp *%r8\n.size asm_jump,.-asm_jump\n");

static char stacks[3][STACK_BYTES];
static context home;
static int value;

FN void leaf(void)
{
	KEEP;
}
FN void yield(int v)
{
	value = v;
	home = asm_jump(home);
	KEEP;
}
FN void nested(int n)
{
	if (n > 1)
		nested(n - 1);
	yield(n);
	leaf();
	KEEP;
}
FN void counts(context from)
{
	home = from;
	nested(3);
	yield(0);
}
FN void yields(context from)
{
	home = from;
	for (;;)
		yield(7);
}
FN void ends(context from)
{
	home = from;
	leaf();
	KEEP;
}
FN context resume(context it)
{
	it = asm_jump(it);
	KEEP;
	return it;
}
int main(void)
{
	context one = asm_make(stacks[0], STACK_BYTES, counts);
	context two = asm_make(stacks[1], STACK_BYTES, yields);
	for (int i = 0; i < 4; i++) {
		one = resume(one);
		two = resume(two);
	}
	leaf();
	for (int i = 0; i < 3; i++) {
		two = asm_make(stacks[1], STACK_BYTES, yields);
		two = resume(two);
		two = resume(two);
		leaf();
	}
	resume(asm_make(stacks[2], STACK_BYTES, ends));
	return 1;
}
