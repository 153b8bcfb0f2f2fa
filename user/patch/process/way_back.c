// SPDX-License-Identifier: LGPL-2.1-or-later
/* way_back.c: see way_back.h. Flags stay as they are: no instruction here changes them, and the
 * trap flag of a thread that steps itself is gone already, as it would trap here. */
#include "user/patch/process/way_back.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

enum { WORDS_AT = 160 };

/* What the code has behind it. */
struct words {
	uint64_t mask, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rip, trap, no_time[2], nice;
};

_Static_assert(WORDS_AT + sizeof(struct words) <= TRACEE_ROOM_BYTES, "it has room");
_Static_assert(SYS_rt_sigprocmask == 14 && SYS_rt_sigtimedwait == 128 && SYS_setpriority == 141,
	       "as below");

__asm__(".pushsection .rodata.way_back, \"a\"\n"
	".Lway_back:\n"
	"	.set .Lway_words, .Lway_back + 160\n"
	"	syscall\n"
	/* rt_sigtimedwait(trap, NULL, no_time, 8) */
	"	mov	$128, %eax\n"
	"	lea	.Lway_words+88(%rip), %rdi\n"
	"	mov	$0, %esi\n"
	"	lea	.Lway_words+96(%rip), %rdx\n"
	"	mov	$8, %r10d\n"
	"	syscall\n"
	/* setpriority(PRIO_PROCESS, 0, nice) */
	"	mov	$141, %eax\n"
	"	mov	$0, %edi\n"
	"	mov	.Lway_words+112(%rip), %edx\n"
	"	syscall\n"
	/* rt_sigprocmask(SIG_SETMASK, mask, NULL, 8) */
	"	mov	$14, %eax\n"
	"	mov	$2, %edi\n"
	"	lea	.Lway_words(%rip), %rsi\n"
	"	mov	$0, %edx\n"
	"	syscall\n"
	"	mov	.Lway_words+8(%rip), %rax\n"
	"	mov	.Lway_words+16(%rip), %rcx\n"
	"	mov	.Lway_words+24(%rip), %rdx\n"
	"	mov	.Lway_words+32(%rip), %rsi\n"
	"	mov	.Lway_words+40(%rip), %rdi\n"
	"	mov	.Lway_words+48(%rip), %r8\n"
	"	mov	.Lway_words+56(%rip), %r9\n"
	"	mov	.Lway_words+64(%rip), %r10\n"
	"	mov	.Lway_words+72(%rip), %r11\n"
	"	jmp	*.Lway_words+80(%rip)\n"
	"	.globl pugmark_way_back, pugmark_way_back_bytes\n"
	"	.hidden pugmark_way_back, pugmark_way_back_bytes\n"
	"	.set pugmark_way_back, .Lway_back\n"
	"	.balign 4\n"
	"pugmark_way_back_bytes:\n"
	"	.long	pugmark_way_back_bytes - .Lway_back\n"
	".popsection\n");
extern const uint8_t pugmark_way_back[];
extern const uint32_t pugmark_way_back_bytes;

/* Where a thread goes on whose system call was interrupted, and with what, as the kernel has it go
 * on (arch_do_signal_or_restart() in arch/x86/kernel/signal.c). */
static void go_on(const struct user_regs_struct *regs, struct words *w)
{
	enum { RESTART_SYS = -512, RESTART_NO_INTR = -513, RESTART_NO_HAND = -514, RESTART = -516 };
	int64_t result = (int64_t)regs->rax;

	w->rax = regs->rax;
	w->rip = regs->rip;
	if ((int64_t)regs->orig_rax < 0)
		return;
	if (result == RESTART_SYS || result == RESTART_NO_INTR || result == RESTART_NO_HAND)
		w->rax = regs->orig_rax;
	else if (result == RESTART)
		w->rax = SYS_restart_syscall;
	else
		return;
	w->rip -= WAY_BACK_CALL_BYTES;
}

int way_back_lay(const struct tracee *t, const struct user_regs_struct *regs, uint64_t mask,
		 bool trap_waits, int nice)
{
	uint8_t bytes[WORDS_AT + sizeof(struct words)] = {0};
	struct words words = {
		.mask = mask,
		.rcx = regs->rcx,
		.rdx = regs->rdx,
		.rsi = regs->rsi,
		.rdi = regs->rdi,
		.r8 = regs->r8,
		.r9 = regs->r9,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.nice = (uint64_t)nice,
		.trap = trap_waits ? 0 : 1ull << (SIGTRAP - 1),
	};

	go_on(regs, &words);
	memcpy(bytes, pugmark_way_back, pugmark_way_back_bytes);
	memcpy(bytes + WORDS_AT, &words, sizeof(words));
	return tracee_write(t, t->room, bytes, sizeof(bytes));
}

int way_back_clear(const struct tracee *t)
{
	static const uint8_t none[TRACEE_ROOM_BYTES];

	return tracee_write(t, t->room, none, sizeof(none));
}
