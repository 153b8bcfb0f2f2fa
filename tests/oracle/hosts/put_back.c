// SPDX-License-Identifier: LGPL-2.1-or-later
/* put_back.c: a setjmp whose caller keeps its own return address apart, as musl's sigsetjmp does:
 * it has returned when a longjmp comes back into it, and puts that address on the stack again. Its
 * code and that of the two functions below it are musl's, without call frame information. */
#include <stdio.h>

#define FN __attribute__((noinline)) static

struct buffer {
	long kept[8], address, mask, rbx;
};
__attribute__((returns_twice)) int set_and_keep(struct buffer *buffer, int mask);
__attribute__((noreturn)) void go_back(struct buffer *buffer, int value);

__asm__(".text\n"
	".type set, @function\n"
	"set:	mov %rbx, (%rdi)\n"
	"	mov %rbp, 8(%rdi)\n"
	"	mov %r12, 16(%rdi)\n"
	"	mov %r13, 24(%rdi)\n"
	"	mov %r14, 32(%rdi)\n"
	"	mov %r15, 40(%rdi)\n"
	"	lea 8(%rsp), %rdx\n"
	"	mov %rdx, 48(%rdi)\n"
	"	mov (%rsp), %rdx\n"
	"	mov %rdx, 56(%rdi)\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size set, .-set\n"
	".globl go_back\n.type go_back, @function\n"
	"go_back: xor %eax, %eax\n"
	"	cmp $1, %esi\n"
	"	adc %esi, %eax\n"
	"	mov (%rdi), %rbx\n"
	"	mov 8(%rdi), %rbp\n"
	"	mov 16(%rdi), %r12\n"
	"	mov 24(%rdi), %r13\n"
	"	mov 32(%rdi), %r14\n"
	"	mov 40(%rdi), %r15\n"
	"	mov 48(%rdi), %rsp\n"
	"	jmp *56(%rdi)\n"
	".size go_back, .-go_back\n"
	".globl set_and_keep\n.type set_and_keep, @function\n"
	"set_and_keep: test %esi, %esi\n"
	"	jz 1f\n"
	"	pop 64(%rdi)\n"
	"	mov %rbx, 80(%rdi)\n"
	"	mov %rdi, %rbx\n"
	"	call set\n"
	"	push 64(%rbx)\n"
	"	mov %rbx, %rdi\n"
	"	mov %eax, %esi\n"
	"	mov 80(%rbx), %rbx\n"
	"	jmp kept\n"
	"1:	jmp set\n"
	".size set_and_keep, .-set_and_keep\n");

static struct buffer buffers[2];

__attribute__((used)) int kept(struct buffer *buffer, int value)
{
	buffer->mask = value;
	return value;
}
FN int leaf(int i)
{
	return i ^ 5;
}
FN void deep(struct buffer *buffer, int n)
{
	if (!n)
		go_back(buffer, 1);
	leaf(n);
	deep(buffer, n - 1);
	leaf(n);
}
/* Comes back as often as @n says, out of calls of more and more depth. */
FN int tried(int n, int mask)
{
	volatile int rounds = 0;
	leaf(mask);
	set_and_keep(&buffers[0], mask);
	if (rounds++ < n)
		deep(&buffers[0], rounds);
	return leaf(rounds) + leaf(n);
}
/* The same, with another one of these calls before it goes back. */
FN int tried_in(int n)
{
	volatile int rounds = 0;
	int got = set_and_keep(&buffers[1], 1);
	if (!got)
		rounds = tried(n, n & 1);
	if (leaf(got) == 5)
		deep(&buffers[1], n);
	return rounds + leaf(got);
}

int main(void)
{
	int n = 0;
	for (int i = 0; i < 60; i++)
		n += tried(i % 4, i % 3 > 0) + tried_in(i % 5) + leaf(i);
	printf("%d\n", n);
	return 0;
}
