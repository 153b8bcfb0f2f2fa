// SPDX-License-Identifier: LGPL-2.1-or-later
/* runtime.c: see runtime.h. Runs in the traced program: it calls nothing, takes no lock, and uses
 * about 160 bytes of stack below the red zone. Signals are blocked while a ring changes its chunk,
 * so that a handler finds the ring as it was or as it is to be. */
#include "offline/patch/runtime.h"

#include "offline/patch/layout.h"

#include <stddef.h>

/* The numbers that the code below has in it. */
_Static_assert((PATCH_HEAD_SET | PATCH_HEAD_STAMP) == 0x82000000 && PATCH_HEAD_RET == 0x800000 &&
		       PATCH_HEAD_TARGET == 0x1000000,
	       "as below");
_Static_assert(PATCH_SLOT == 0x278 && PATCH_CHUNK == 0x40000 && PATCH_TAIL == 1024 &&
		       PATCH_RINGS == 16384 && PATCH_CODE_START == 1024 &&
		       offsetof(struct patch_header, rings) == 8 &&
		       offsetof(struct patch_header, local) == 16 &&
		       offsetof(struct patch_header, shared) == 24,
	       "as below");
_Static_assert(offsetof(struct patch_header, code_from) == 552 &&
		       offsetof(struct patch_header, code_to) == 560 &&
		       offsetof(struct patch_header, index) == 568 &&
		       offsetof(struct patch_header, find_next) == 576 &&
		       offsetof(struct patch_header, map) == 584 &&
		       offsetof(struct patch_header, chunks_most) == 624,
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
		       offsetof(struct patch_chunk, time) == 24 &&
		       offsetof(struct patch_chunk, closed) == 32 && PATCH_NOWHERE == 1ull << 63,
	       "as below");
_Static_assert(offsetof(struct patch_shared, n_chunks) == 4 &&
		       offsetof(struct patch_shared, waits) == 8 &&
		       offsetof(struct patch_shared, alive) == 12 &&
		       offsetof(struct patch_shared, hint) == 16 &&
		       offsetof(struct patch_shared, stamp_bytes) == 20 &&
		       offsetof(struct patch_shared, full) == 24,
	       "as below");

/* Registers: r8 the header, r9 the ring, r10 what is shared, r11 and below scratch. On the stack:
 * the set of signals that was blocked, what to say in the end (0 lost, 1 try again, 2 rare), and
 * under the registers the flags. */
__asm__(".pushsection .rodata.pugmark_patch, \"a\"\n"
	"	.balign 16\n"
	"	.globl pugmark_patch_runtime\n"
	"	.hidden pugmark_patch_runtime\n"
	"pugmark_patch_runtime:\n"
	".Lpatch_start:\n"
	"	.set .Lpatch_header, .Lpatch_start - 1024\n"
	"	.set .Lpatch_filled, 0x40000 - 1024\n"
	".Lpatch_every_signal:\n"
	"	.quad -1\n"

	".Lpatch_slow:\n"
	/* What the trampoline has reserved: its bytes at 8(%rsp), its address at 16(%rsp), or 0. A
	   stamp fills it, where one is due. */
	"	push	%rax\n"
	"	push	%rcx\n"
	"	push	%rdx\n"
	"	push	%rsi\n"
	"	push	%rdi\n"
	"	mov	56(%rsp), %rcx\n"
	"	call	.Lpatch_chunk_of\n"
	"	test	%rdx, %rdx\n"
	"	jz	19f\n"
	"	mov	%fs:0x278, %rdi\n"
	"	cmpl	$0, 28(%rdi)\n"
	"	je	19f\n"		 /* it is the parent's */
	"	mov	8(%rdi), %rax\n" /* before it is known whose: a handler may take another
					    chunk */
	"	cmp	32(%rdi), %rdx\n"
	"	jne	19f\n"
	"	add	$.Lpatch_filled, %rdx\n"
	"	cmp	%rdx, %rcx\n"
	"	jae	19f\n"
	"	mov	20(%rsi), %esi\n"
	"	add	%rcx, %rsi\n"
	"	cmp	%rdx, %rsi\n"
	"	cmova	%rdx, %rsi\n"
	"	cmpxchg	%rsi, 8(%rdi)\n" /* unless a handler has moved it */
	"	mov	48(%rsp), %esi\n"
	"	call	.Lpatch_fill\n"
	"	pop	%rdi\n"
	"	pop	%rsi\n"
	"	pop	%rdx\n"
	"	pop	%rcx\n"
	"	cmp	%eax, %eax\n" /* equal: try again */
	"	pop	%rax\n"
	"	ret\n"
	"19:\n"
	"	pop	%rdi\n"
	"	pop	%rsi\n"
	"	pop	%rdx\n"
	"	pop	%rcx\n"
	"	pop	%rax\n"
	/* Where there was no chunk the last time, and is none now, it is counted and no more;
	   unless something was reserved in a chunk that a handler has closed since. */
	"	push	%rax\n"
	"	cmpq	$0, 24(%rsp)\n"
	"	jg	9f\n"
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
	/* A program that steps itself does not here: its SIGTRAP would be blocked, which the
	   kernel takes for the end of it. */
	"	pushf\n"
	"	pushf\n"
	"	andq	$~0x100, (%rsp)\n"
	"	popf\n"
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
	"	mov	112(%rsp), %rcx\n"
	"	cmpl	$0, 28(%r9)\n"
	"	jne	10f\n"
	/* In a child of fork what a handler interrupts may have reserved the first bytes of
	   nothing, and must not find a chunk behind that. */
	"	test	%rcx, %rcx\n"
	"	jnz	81f\n"
	"	jmp	12f\n"
	"10:\n"
	/* A handler may have closed the chunk before signals were blocked: it is not read before
	   all that is reserved there is filled. */
	"	call	.Lpatch_chunk_of\n"
	"	test	%rdx, %rdx\n"
	"	jz	11f\n"
	"	cmp	32(%r9), %rdx\n"
	"	je	11f\n"
	"	mov	28(%r9), %eax\n"
	"	cmp	%eax, 4(%rdx)\n"
	"	jne	11f\n" /* the parent's, in a child of fork */
	"	mov	104(%rsp), %esi\n"
	"	call	.Lpatch_fill\n"
	"11:\n"
	/* A handler that came before signals were blocked may have done it. */
	"	mov	(%r9), %rax\n"
	"	cmp	8(%r9), %rax\n"
	"	jb	7f\n"
	/* Or the chunk is its own, and only a stamp was due there. */
	"	mov	32(%r9), %rcx\n"
	"	test	%rcx, %rcx\n"
	"	jz	12f\n"
	"	add	$.Lpatch_filled, %rcx\n"
	"	cmp	%rcx, %rax\n"
	"	jae	12f\n"
	"	mov	%rcx, 8(%r9)\n"
	"	jmp	7f\n"
	"12:\n"
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
	"	mov	112(%rsp), %rax\n"
	"	sub	%rcx, %rax\n"
	"	cmp	$0x40000, %rax\n"
	"	jb	21f\n"
	"	mov	(%r9), %rax\n"
	"	sub	%rcx, %rax\n"
	"21:\n"
	"	mov	%eax, 32(%rcx)\n" /* all before that is reserved, and filled or being so */
	"	movq	$0, 32(%r9)\n"
	"	movl	$2, (%rcx)\n" /* from here on it may be anybody's */
	"3:\n"
	/* Waiting: since when (rdx), and what `alive` was then (rsi). */
	"	rdtsc\n"
	"	shl	$32, %rdx\n"
	"	or	%rax, %rdx\n"
	"	mov	%rdx, %r11\n"
	"	mov	12(%r10), %esi\n"
	"4:\n"
	"	mov	4(%r10), %edi\n"
	"	cmp	.Lpatch_header+624(%rip), %edi\n"
	"	cmova	.Lpatch_header+624(%rip), %edi\n"
	"	mov	16(%r10), %ecx\n"
	"5:\n"
	"	cmp	4(%r10), %ecx\n"
	"	jae	50f\n"
	"	cmp	.Lpatch_header+624(%rip), %ecx\n"
	"	jb	51f\n"
	"50:\n"
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
	/* PATCH_NOWHERE: behind the end of any chunk that a handler may find. */
	"	mov	$1, %eax\n"
	"	shl	$63, %rax\n"
	"	mov	%rax, (%r9)\n"
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
	"	lfence\n"
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
	/* Whoever looks at the thread here finds the last chunk full, or this one with its
	   position. */
	"	movq	$0, 16(%r9)\n"
	"	lea	64(%rdi), %rax\n"
	"	mov	%rax, (%r9)\n"
	"	mov	20(%r10), %ecx\n"
	"	add	%rcx, %rax\n"
	"	lea	.Lpatch_filled(%rdi), %rcx\n"
	"	cmp	%rcx, %rax\n"
	"	cmova	%rcx, %rax\n"
	"	mov	%rax, 8(%r9)\n"
	"	mov	%rdi, 32(%r9)\n"
	"	mov	%esi, 24(%r9)\n"
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
	"	pushf\n"
	"	pop	%rax\n"
	"	andq	$0x100, 72(%rsp)\n" /* and it steps itself as before */
	"	or	%rax, 72(%rsp)\n"
	"	pop	%r11\n"
	"	pop	%r10\n"
	"	pop	%r9\n"
	"	pop	%r8\n"
	"	pop	%rdi\n"
	"	pop	%rsi\n"
	"	pop	%rdx\n"
	"	pop	%rcx\n"
	"	pop	%rax\n"
	"	popf\n"
	"	ret\n"

	/* rdx: the chunk that the address rcx lies in; 0: in none. rsi: what is shared. */
	".Lpatch_chunk_of:\n"
	"	mov	.Lpatch_header+24(%rip), %rsi\n"
	"	xor	%edx, %edx\n"
	"	cmp	%rsi, %rcx\n"
	"	jle	1f\n" /* signed: below, or PATCH_NOWHERE */
	"	mov	%rcx, %rdx\n"
	"	sub	%rsi, %rdx\n"
	"	and	$0x3ffff, %edx\n"
	"	neg	%rdx\n"
	"	add	%rcx, %rdx\n"
	"1:\n"
	"	ret\n"

	/* Fills the esi bytes that are reserved at rcx with a stamp. Changes rax and rdx. */
	".Lpatch_fill:\n"
	"	lfence\n"
	"	rdtsc\n"
	"	mov	%eax, 4(%rcx)\n"
	"	mov	%edx, 8(%rcx)\n"
	"	mov	$0x82000000, %eax\n" /* PATCH_HEAD_SET | PATCH_HEAD_STAMP */
	"	cmp	$12, %esi\n"
	"	je	1f\n"
	"	or	$0x800000, %eax\n" /* PATCH_HEAD_RET */
	"	cmp	$20, %esi\n"
	"	je	1f\n"
	"	or	$0x1000000, %eax\n" /* PATCH_HEAD_TARGET */
	"1:\n"
	"	mov	%eax, (%rcx)\n"
	"	ret\n"

	/* In place of glibc's _dl_find_object(): rdi an address, rsi struct dl_find_object
	   (<dlfcn.h>). */
	"	.balign 16\n"
	".Lpatch_find:\n"
	"	endbr64\n"
	"	mov	.Lpatch_header+552(%rip), %rax\n"
	"	mov	.Lpatch_header+560(%rip), %rcx\n"
	"	cmp	%rax, %rdi\n"
	"	jb	1f\n"
	"	cmp	%rcx, %rdi\n"
	"	jae	1f\n"
	"	movq	$0, (%rsi)\n" /* flags */
	"	mov	%rax, 8(%rsi)\n"
	"	mov	%rcx, 16(%rsi)\n"
	"	lea	.Lpatch_header+584(%rip), %rax\n"
	"	mov	%rax, 24(%rsi)\n"
	"	mov	.Lpatch_header+568(%rip), %rax\n"
	"	mov	%rax, 32(%rsi)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	"1:\n"
	"	jmp	*.Lpatch_header+576(%rip)\n"

	"	.balign 16\n"
	".Lpatch_rare:\n"
	"	nop\n"
	"	ret\n"
	".Lpatch_end:\n"

	"	.balign 4\n"
	"	.globl pugmark_patch_runtime_bytes, pugmark_patch_slow, pugmark_patch_rare\n"
	"	.globl pugmark_patch_find\n"
	"	.hidden pugmark_patch_runtime_bytes, pugmark_patch_slow, pugmark_patch_rare\n"
	"	.hidden pugmark_patch_find\n"
	"pugmark_patch_runtime_bytes:\n"
	"	.long	.Lpatch_end - .Lpatch_start\n"
	"pugmark_patch_slow:\n"
	"	.long	.Lpatch_slow - .Lpatch_start\n"
	"pugmark_patch_rare:\n"
	"	.long	.Lpatch_rare - .Lpatch_start\n"
	"pugmark_patch_find:\n"
	"	.long	.Lpatch_find - .Lpatch_start\n"
	".popsection\n");
