// SPDX-License-Identifier: LGPL-2.1-or-later
/* runtime.c: see runtime.h. Runs in the traced program: it calls nothing, takes no lock, and uses
 * about 130 bytes of stack below the red zone. Signals are blocked while a ring changes its chunk,
 * so that a handler finds the ring as it was or as it is to be. */
#include "offline/patch/runtime.h"

#include "offline/patch/layout.h"

#include <stddef.h>

/* The numbers that the code below has in it. */
_Static_assert(PATCH_SLOT == 0x278 && PATCH_CHUNK == 0x40000 && PATCH_RECORD_MAX == 32 &&
		       PATCH_RINGS == 16384 && PATCH_CODE_START == 1024 &&
		       offsetof(struct patch_header, rings) == 8 &&
		       offsetof(struct patch_header, local) == 16 &&
		       offsetof(struct patch_header, shared) == 24,
	       "as below");
_Static_assert(offsetof(struct patch_ring, end) == 8 && offsetof(struct patch_ring, last) == 16 &&
		       offsetof(struct patch_ring, serial) == 24 &&
		       offsetof(struct patch_ring, lane) == 28 &&
		       offsetof(struct patch_ring, chunk) == 32 &&
		       offsetof(struct patch_ring, lost) == 40,
	       "as below");
_Static_assert(offsetof(struct patch_chunk, lane) == 4 &&
		       offsetof(struct patch_chunk, serial) == 8 &&
		       offsetof(struct patch_chunk, lost) == 16 &&
		       offsetof(struct patch_chunk, time) == 24,
	       "as below");
_Static_assert(offsetof(struct patch_shared, n_chunks) == 4 &&
		       offsetof(struct patch_shared, waits) == 8 &&
		       offsetof(struct patch_shared, alive) == 12 &&
		       offsetof(struct patch_shared, hint) == 16 &&
		       offsetof(struct patch_shared, full) == 24,
	       "as below");

/* Registers: r8 the header, r9 the ring, r10 what is shared, r11 and below scratch. On the stack:
 * the set of signals that was blocked, and what to say in the end (0 lost, 1 try again, 2 rare). */
__asm__(".pushsection .rodata.pugmark_patch, \"a\"\n"
	"	.balign 16\n"
	"	.globl pugmark_patch_runtime\n"
	"	.hidden pugmark_patch_runtime\n"
	"pugmark_patch_runtime:\n"
	".Lpatch_start:\n"
	"	.set .Lpatch_header, .Lpatch_start - 1024\n"
	".Lpatch_every_signal:\n"
	"	.quad -1\n"

	".Lpatch_slow:\n"
	/* Where there was no chunk the last time, and is none now, it is counted and no more. */
	"	push	%rax\n"
	"	mov	%fs:0x278, %rax\n"
	"	test	%rax, %rax\n"
	"	jz	9f\n"
	"	cmpq	$0, 32(%rax)\n"
	"	jne	9f\n"
	"	cmpl	$0, 24(%rax)\n"
	"	je	9f\n"
	"	push	%rcx\n"
	"	mov	.Lpatch_header+24(%rip), %rcx\n"
	"	cmpl	$0, 24(%rcx)\n"
	"	pop	%rcx\n"
	"	je	9f\n"
	"	incq	40(%rax)\n"
	"	pop	%rax\n"
	"	stc\n"
	"	ret\n"
	"9:\n"
	"	pop	%rax\n"
	"	push	%rax\n"
	"	push	%rcx\n"
	"	push	%rdx\n"
	"	push	%rsi\n"
	"	push	%rdi\n"
	"	push	%r8\n"
	"	push	%r9\n"
	"	push	%r10\n"
	"	push	%r11\n"
	"	push	$0\n" /* what to say */
	"	push	$0\n" /* the old signal mask */
	/* rt_sigprocmask(SIG_BLOCK, every, old, 8) */
	"	mov	$14, %eax\n"
	"	xor	%edi, %edi\n"
	"	lea	.Lpatch_every_signal(%rip), %rsi\n"
	"	mov	%rsp, %rdx\n"
	"	mov	$8, %r10d\n"
	"	syscall\n"
	"	lea	.Lpatch_header(%rip), %r8\n"
	"	mov	24(%r8), %r10\n"
	"	mov	%fs:0x278, %r9\n"
	"	test	%r9, %r9\n"
	"	jnz	1f\n"
	/* A ring for this thread. */
	"	mov	16(%r8), %rcx\n"
	"	cmpl	$16384, (%rcx)\n"
	"	jae	81f\n"
	"	mov	$1, %eax\n"
	"	lock xadd %eax, (%rcx)\n"
	"	cmp	$16384, %eax\n"
	"	jae	81f\n"
	"	shl	$6, %rax\n"
	"	mov	8(%r8), %r9\n"
	"	add	%rax, %r9\n"
	"	mov	%r9, %fs:0x278\n"
	"1:\n"
	/* A handler that came before signals were blocked may have done it. */
	"	mov	(%r9), %rax\n"
	"	cmp	8(%r9), %rax\n"
	"	jb	7f\n"
	"	cmpl	$0, 28(%r9)\n"
	"	jne	2f\n"
	"	mov	$1, %eax\n"
	"	lock xadd %eax, (%r10)\n"
	"	inc	%eax\n"
	"	mov	%eax, 28(%r9)\n"
	"	movl	$0, 24(%r9)\n"
	"2:\n"
	/* This chunk is done with. */
	"	mov	32(%r9), %rcx\n"
	"	test	%rcx, %rcx\n"
	"	jz	3f\n"
	"	movl	$2, (%rcx)\n"
	"	movq	$0, 32(%r9)\n"
	"3:\n"
	/* Waiting: since when (rdx), and what `alive` was then (rsi). */
	"	rdtsc\n"
	"	shl	$32, %rdx\n"
	"	or	%rax, %rdx\n"
	"	mov	%rdx, %r11\n"
	"	mov	12(%r10), %esi\n"
	"4:\n"
	"	mov	4(%r10), %edi\n"
	"	mov	16(%r10), %ecx\n"
	"5:\n"
	"	cmp	4(%r10), %ecx\n"
	"	jb	51f\n"
	"	xor	%ecx, %ecx\n"
	"51:\n"
	"	mov	%rcx, %rdx\n"
	"	shl	$18, %rdx\n"
	"	lea	0x40000(%r10,%rdx), %rdx\n" /* the first is for what is shared */
	"	inc	%ecx\n"
	"	cmpl	$0, (%rdx)\n"
	"	jne	52f\n"
	"	xor	%eax, %eax\n"
	"	push	%rcx\n"
	"	mov	$1, %ecx\n"
	"	lock cmpxchg %ecx, (%rdx)\n"
	"	pop	%rcx\n"
	"	je	6f\n"
	"52:\n"
	"	dec	%edi\n"
	"	jnz	5b\n"
	/* None is free. */
	"	cmpl	$0, 8(%r10)\n"
	"	je	53f\n"
	"	cmp	12(%r10), %esi\n"
	"	jne	3b\n"
	"	rdtsc\n"
	"	shl	$32, %rdx\n"
	"	or	%rax, %rdx\n"
	"	sub	%r11, %rdx\n"
	"	shr	$33, %rdx\n" /* for some seconds nobody has drained: nobody will */
	"	jz	54f\n"
	"	movl	$0, 8(%r10)\n"
	"53:\n"
	"	movl	$1, 24(%r10)\n"
	"	incq	40(%r9)\n"
	"	movq	$0, 8(%r9)\n"
	"	jmp	8f\n"
	"54:\n"
	"	push	%r11\n"
	"	mov	$24, %eax\n" /* sched_yield() */
	"	syscall\n"
	"	pop	%r11\n"
	"	jmp	4b\n"
	"6:\n"
	/* The chunk at rdx is this thread's. */
	"	mov	%ecx, 16(%r10)\n"
	"	mov	%rdx, %rdi\n"
	"	rdtsc\n"
	"	shl	$32, %rdx\n"
	"	or	%rax, %rdx\n"
	"	mov	%rdx, 24(%rdi)\n"
	"	mov	40(%r9), %rax\n"
	"	mov	%rax, 16(%rdi)\n"
	"	mov	24(%r9), %eax\n"
	"	movq	$1, 8(%rsp)\n"
	"	test	%eax, %eax\n"
	"	jnz	61f\n"
	"	movq	$2, 8(%rsp)\n" /* the first of the thread, or of a child of fork */
	"61:\n"
	"	inc	%eax\n"
	"	mov	%eax, %esi\n"
	"	mov	%eax, 8(%rdi)\n"
	"	mov	28(%r9), %eax\n"
	"	mov	%eax, 4(%rdi)\n"
	/* Whoever stops the thread here reads the number of the chunk, or else that of the last
	   one. */
	"	mov	%rdi, 32(%r9)\n"
	"	mov	%esi, 24(%r9)\n"
	"	movq	$0, 16(%r9)\n"
	"	lea	64(%rdi), %rax\n"
	"	mov	%rax, (%r9)\n"
	"	lea	0x40000-32(%rdi), %rax\n"
	"	mov	%rax, 8(%r9)\n"
	"	jmp	8f\n"
	"81:\n" /* a thread too many: the kernel carries its events */
	"	movq	$2, 8(%rsp)\n"
	"	jmp	8f\n"
	"7:\n"
	"	movq	$1, 8(%rsp)\n"
	"8:\n"
	/* rt_sigprocmask(SIG_SETMASK, old, NULL, 8) */
	"	mov	$14, %eax\n"
	"	mov	$2, %edi\n"
	"	mov	%rsp, %rsi\n"
	"	xor	%edx, %edx\n"
	"	mov	$8, %r10d\n"
	"	syscall\n"
	"	pop	%rax\n"
	"	pop	%rax\n"
	"	cmp	$1, %eax\n" /* 0: below, 1: equal, 2: above */
	"	pop	%r11\n"
	"	pop	%r10\n"
	"	pop	%r9\n"
	"	pop	%r8\n"
	"	pop	%rdi\n"
	"	pop	%rsi\n"
	"	pop	%rdx\n"
	"	pop	%rcx\n"
	"	pop	%rax\n"
	"	ret\n"

	"	.balign 16\n"
	".Lpatch_rare:\n"
	"	nop\n"
	"	ret\n"
	".Lpatch_end:\n"

	"	.balign 4\n"
	"	.globl pugmark_patch_runtime_bytes, pugmark_patch_slow, pugmark_patch_rare\n"
	"	.hidden pugmark_patch_runtime_bytes, pugmark_patch_slow, pugmark_patch_rare\n"
	"pugmark_patch_runtime_bytes:\n"
	"	.long	.Lpatch_end - .Lpatch_start\n"
	"pugmark_patch_slow:\n"
	"	.long	.Lpatch_slow - .Lpatch_start\n"
	"pugmark_patch_rare:\n"
	"	.long	.Lpatch_rare - .Lpatch_start\n"
	".popsection\n");
