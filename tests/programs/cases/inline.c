// SPDX-License-Identifier: LGPL-2.1-or-later
/* inline.c: stacks switched by inline assembly in the middle of functions that do other work before
 * and after it, and some that do nothing else: by a jump to a label of theirs that was kept, and by
 * a return to one that was pushed. */
#include "case.h"

#include <stdint.h>

#define STACK_WORDS (8 << 10)
#define BESIDES                                                                                    \
	"rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",    \
		"memory"

#define INLINE static inline __attribute__((always_inline, no_instrument_function))

struct context {
	void *sp, *bp, *ip;
};

static uint64_t stacks[3][STACK_WORDS];
static struct context home, fiber[3];
static volatile int value;

INLINE void jump(struct context *from, struct context *to)
{
	__asm__ volatile("lea 1f(%%rip),%%rax\n\t"
			 "mov %%rax,16(%0)\n\t"
			 "mov %%rsp,(%0)\n\t"
			 "mov %%rbp,8(%0)\n\t"
			 "mov 8(%1),%%rbp\n\t"
			 "mov (%1),%%rsp\n\t"
			 "jmp *16(%1)\n\t"
			 "1:"
			 : "+S"(from), "+D"(to)
			 :
			 : BESIDES);
}
/* Only for functions that make calls: others may keep something below the stack pointer. */
INLINE void return_to(struct context *from, struct context *to)
{
	__asm__ volatile("lea 1f(%%rip),%%rax\n\t"
			 "push %%rax\n\t"
			 "push %%rbp\n\t"
			 "mov %%rsp,(%0)\n\t"
			 "mov (%1),%%rsp\n\t"
			 "pop %%rbp\n\t"
			 "ret\n\t"
			 "1:"
			 : "+S"(from), "+D"(to)
			 :
			 : BESIDES);
}
FN void leaf(void)
{
	KEEP;
}
FN void other(void)
{
	KEEP;
}
FN void resume(int n)
{
	leaf();
	jump(&home, &fiber[n]);
	if (value % 2)
		leaf();
	else
		other();
	KEEP;
}
FN void yield(int n, int what)
{
	other();
	value = what;
	jump(&fiber[n], &home);
	leaf();
	KEEP;
}
FN void yield_only(int n, int what)
{
	value = what;
	jump(&fiber[n], &home);
	KEEP;
}
FN void resume_by_return(int n)
{
	if (value % 2)
		leaf();
	return_to(&home, &fiber[n]);
	leaf();
	KEEP;
}
FN void yield_by_return(int n)
{
	return_to(&fiber[n], &home);
	if (value++ % 2)
		other();
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
		yield_only(0, 0);
	}
}
FN void counter(void)
{
	for (int i = 0;; i++) {
		yield_only(1, i);
		if (i % 2)
			other();
	}
}
FN void returner(void)
{
	leaf();
	for (;;) {
		yield_by_return(2);
		leaf();
	}
}
/* As if something had called @body, and before that kept its place for return_to(). */
FN void make(int n, void (*body)(void))
{
	uint64_t *at = stacks[n] + STACK_WORDS - 4;
	at[0] = 0; /* rbp */
	at[1] = (uint64_t)body;
	fiber[n] = (struct context){at + (n < 2 ? 2 : 0), 0, body};
	KEEP;
}
int main(void)
{
	make(0, generator);
	make(1, counter);
	make(2, returner);
	for (int i = 0; i < 6; i++) {
		resume(0);
		resume(1);
		resume_by_return(2);
	}
	leaf();
	KEEP;
	return 0;
}
