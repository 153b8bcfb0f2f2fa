// SPDX-License-Identifier: LGPL-2.1-or-later
/* begins.c: without a C library. The program begins in a function that can also be entered by
 * another one, as Free Pascal's do, so that what lies where its return address would (argc) is
 * read. Its own jumps leave calls near enough to the beginning that a snapshot of the stack shows
 * it.
 *
 *   gcc -O1 -nostdlib -static begins.c
 */
#define FN __attribute__((noipa))
#define KEEP __asm__ volatile("" ::: "memory")

void *entries[2];
int mark_place(long *to);
__attribute__((noreturn)) void go_to(long *to, int value);
__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n"
	"	pop %rsi\n"
	"	and $-16, %rsp\n"
	"	xor %ebp, %ebp\n"
	"	call run\n"
	"	mov %eax, %edi\n"
	"	mov $231, %eax\n"
	"	syscall\n"
	"	hlt\n"
	".size _start, .-_start\n"
	".globl start_other\n.type start_other, @function\nstart_other:\n"
	"	lea entries(%rip), %rax\n"
	"	mov %rdx, (%rax)\n"
	"	jmp _start\n"
	".size start_other, .-start_other\n"
	".globl mark_place\n.type mark_place, @function\nmark_place:\n"
	"	mov %rbx, (%rdi)\n	mov %rbp, 8(%rdi)\n	mov %r12, 16(%rdi)\n"
	"	mov %r13, 24(%rdi)\n	mov %r14, 32(%rdi)\n	mov %r15, 40(%rdi)\n"
	"	lea 8(%rsp), %rax\n	mov %rax, 48(%rdi)\n"
	"	mov (%rsp), %rax\n	mov %rax, 56(%rdi)\n"
	"	xor %eax, %eax\n	ret\n"
	".size mark_place, .-mark_place\n"
	".globl go_to\n.type go_to, @function\ngo_to:\n"
	"	mov %esi, %eax\n"
	"	mov (%rdi), %rbx\n	mov 8(%rdi), %rbp\n	mov 16(%rdi), %r12\n"
	"	mov 24(%rdi), %r13\n	mov 32(%rdi), %r14\n	mov 40(%rdi), %r15\n"
	"	mov 48(%rdi), %rsp\n	jmp *56(%rdi)\n"
	".size go_to, .-go_to\n"
	".section .note.GNU-stack,\"\",@progbits\n.text\n");
void _start(void);
void start_other(void);

static long place[8];

FN void leaf(void)
{
	KEEP;
}
FN void down(int n)
{
	leaf();
	if (n)
		down(n - 1);
	else
		go_to(place, 1);
	KEEP;
}
__attribute__((returns_twice)) extern int mark_place(long *to);
FN void tries(int n)
{
	if (mark_place(place))
		leaf();
	else
		down(n);
	KEEP;
}
FN int run(void)
{
	entries[0] = (void *)_start;
	entries[1] = (void *)start_other;
	for (int i = 0; i < 5; i++)
		tries(i);
	leaf();
	return 0;
}
