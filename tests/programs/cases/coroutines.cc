// SPDX-License-Identifier: LGPL-2.1-or-later
/* coroutines.cc: what leaves the straight path on a stack of its own: exceptions that are thrown
 * and caught there, before and after it was left; one that is handled while it is left; signals
 * that come on it, whose handler switches nothing, and one whose handler leaves by siglongjmp; and
 * a function that is called on another stack and comes back. */
#include "case.h"

#include <signal.h>
#include <stdexcept>
#include <ucontext.h>

#define STACK_BYTES (256 << 10)

/* void asm_on_stack(void (*func)(void), void *top): calls @func on the stack that ends at @top. */
__asm__(".text\n"
	".globl asm_on_stack\n"
	".type asm_on_stack,@function\n"
	"asm_on_stack:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa %rbp, 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp,%rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rsi,%rsp\n"
	"	call *%rdi\n"
	"	mov %rbp,%rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size asm_on_stack,.-asm_on_stack\n");
extern "C" void asm_on_stack(void (*func)(void), void *top);

static ucontext_t home, body;
static char stack[STACK_BYTES] __attribute__((aligned(16)));

FN void leaf(void)
{
	KEEP;
}
FN void yield(void)
{
	swapcontext(&body, &home);
	leaf();
	KEEP;
}
FN void resume(void)
{
	swapcontext(&home, &body);
	leaf();
	KEEP;
}
FN void fails(int n)
{
	if (n)
		fails(n - 1);
	else
		throw std::runtime_error("here");
	leaf();
}
FN void fails_later(int n)
{
	yield();
	fails(n);
	leaf();
}
FN void catches(void (*fails_so)(int), int n)
{
	try {
		fails_so(n);
	} catch (const std::exception &) {
		leaf();
	}
	leaf();
}
FN void leaves_while_caught(void)
{
	try {
		fails(1);
	} catch (const std::exception &) {
		yield();
	}
	leaf();
}
FN void handler(int)
{
	leaf();
	KEEP;
}
FN void interrupted(void)
{
	raise(SIGUSR1);
	yield();
	raise(SIGUSR1);
	leaf();
	KEEP;
}
FN void coroutine(void)
{
	catches(fails, 2);
	catches(fails_later, 1);
	leaves_while_caught();
	interrupted();
	yield();
	leaf();
	KEEP;
}
FN void elsewhere(void)
{
	leaf();
	catches(fails, 1);
	raise(SIGUSR1);
	leaf();
	KEEP;
}
FN void call_elsewhere(void)
{
	asm_on_stack(elsewhere, stack + STACK_BYTES);
	leaf();
	KEEP;
}
int main()
{
	signal(SIGUSR1, handler);
	getcontext(&body);
	body.uc_stack.ss_sp = stack;
	body.uc_stack.ss_size = STACK_BYTES;
	body.uc_link = &home;
	makecontext(&body, coroutine, 0);
	for (int i = 0; i < 5; i++) {
		resume();
		catches(fails, 1);
	}
	call_elsewhere();
	call_elsewhere();
	leaf();
	return 0;
}
