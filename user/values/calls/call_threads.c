// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_threads.c: see call_threads.h. */
#include "user/values/calls/call_threads.h"

#include "user/patch/process/frames.h"
#include "user/values/calls/call_stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

uint64_t call_threads_pointer(pid_t tid)
{
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, tid, NULL, &regs) ? 0 : regs.fs_base;
}

struct held {
	const struct call_patches *p;
	bool held;
};

/* Behind the first byte of a site: an instruction that a jump would be written over. */
static void note_in_sites(void *ctx, uint64_t ip)
{
	struct held *h = ctx;

	for (uint32_t i = 0; i < h->p->n; i++)
		h->held |= ip > h->p->sites[i].at && ip < h->p->sites[i].at + CALL_SITE_BYTES;
}

static void note_in_code(void *ctx, uint64_t ip)
{
	struct held *h = ctx;

	h->held |= ip - h->p->code < h->p->code_end - h->p->code;
}

/* Whether a handler of a thread returns to such a place; true as well where that cannot be seen. */
static bool frames_hold(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
			uint32_t n, void (*note)(void *ctx, uint64_t ip))
{
	struct held h = {.p = p};
	struct tracee_map *maps = NULL;
	int n_maps = tracee_ranges(t->pid, &maps);

	for (uint32_t i = 0; n_maps > 0 && !h.held && i < n; i++) {
		struct user_regs_struct regs;

		if (!ptrace(PTRACE_GETREGS, tids[i], NULL, &regs))
			frames_each(t, maps, n_maps, regs.rsp, note, &h);
	}
	free(maps);
	return h.held || n_maps <= 0;
}

/* Whether the kernel has the thread make the call again, which it had interrupted. */
static bool is_made_again(const struct user_regs_struct *regs)
{
	enum { RESTART_SYS = -512, RESTART_NO_INTR = -513, RESTART_NO_HAND = -514, RESTART = -516 };
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 &&
	       (result == RESTART_SYS || result == RESTART_NO_INTR || result == RESTART_NO_HAND ||
		result == RESTART);
}

/* A thread behind a `syscall` of its own goes on in the stub if it makes that again, or if what
 * lies behind has become part of the jump. Returns whether it does. */
static bool move_to_stub(const struct call_patches *p, uint32_t i, struct user_regs_struct *regs)
{
	const struct call_site *s = &p->sites[i];
	bool fast = call_stubs_fast(s) && !call_stubs_fast(s)->check[0];

	if (is_made_again(regs)) { /* as the stub's own call leaves rcx */
		regs->rip = call_stubs_address(p, i) + (fast ? CALL_FAST_OVER : CALL_SLOW_OVER);
		regs->rcx = regs->rip;
	} else if (s->n_moved) {
		regs->rip = call_stubs_address(p, i) + CALL_MOVED;
	} else {
		return false;
	}
	return true;
}

/* 0: the thread may go on; 1: its registers are to be set; -EBUSY: it stands amid a site. */
static int settle(const struct call_patches *p, struct user_regs_struct *regs)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct call_site *s = &p->sites[i];

		if (regs->rip == s->call + CALL_SYSCALL_BYTES)
			return move_to_stub(p, i, regs);
		if (regs->rip > s->at && regs->rip < s->at + CALL_SITE_BYTES)
			return -EBUSY;
	}
	return 0;
}

/* What a thread is in when the recording begins has begun before: it is told as soon as it is over.
 */
static int note_begun(const struct call_patches *p, const struct user_regs_struct *regs)
{
	const uint64_t begun[2] = {regs->fs_base, 1};
	off_t at = CALL_PAGE + (off_t)call_lane_of(regs->fs_base);
	uint64_t owner;

	if (pread(p->lanes_fd, &owner, sizeof(owner), at) != sizeof(owner) ||
	    (owner && owner != regs->fs_base) || !regs->fs_base)
		return 0;
	return pwrite(p->lanes_fd, begun, sizeof(begun), at) == sizeof(begun) ? 0 : -EIO;
}

int call_threads_read(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
		      uint32_t n, struct user_regs_struct *was)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		if (ptrace(PTRACE_GETREGS, tids[i], NULL, &was[i]))
			return -errno;
		struct user_regs_struct regs = was[i];
		err = settle(p, &regs) < 0 ? -EBUSY : note_begun(p, &regs);
	}
	if (!err && frames_hold(p, t, tids, n, note_in_sites))
		err = -EBUSY;
	return err;
}

int call_threads_move(const struct call_patches *p, const pid_t *tids, uint32_t n,
		      const struct user_regs_struct *was)
{
	for (uint32_t i = 0; i < n; i++) {
		struct user_regs_struct regs = was[i];

		if (settle(p, &regs) > 0 && ptrace(PTRACE_SETREGS, tids[i], NULL, &regs))
			return -errno;
	}
	return 0;
}

int call_threads_put_back(const struct call_patches *p, const pid_t *tids, uint32_t n,
			  const struct user_regs_struct *was)
{
	int err = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct user_regs_struct regs = was[i];

		if (settle(p, &regs) > 0 && ptrace(PTRACE_SETREGS, tids[i], NULL, &was[i]) &&
		    errno != ESRCH)
			err = -errno;
	}
	return err;
}

uint64_t call_threads_told(const struct call_patches *p, uint64_t ip, uint64_t *rcx)
{
	uint64_t off = ip - p->code - CALL_STUBS, i = off / CALL_STUB_BYTES;

	*rcx = 0;
	if (ip < p->code + CALL_STUBS || i >= p->n)
		return 0;
	const struct call_site *s = &p->sites[i];
	off %= CALL_STUB_BYTES;
	if (off < CALL_SLOW_SYSCALL)
		return s->at;
	if (off < CALL_SLOW_OVER || (off >= CALL_FAST && off < CALL_FAST_OVER))
		return s->call;
	if (off > CALL_MOVED)
		return s->call + CALL_SYSCALL_BYTES + s->n_moved;
	return *rcx = s->call + CALL_SYSCALL_BYTES;
}

bool call_threads_waits(const struct call_patches *p, struct user_regs_struct *regs)
{
	uint64_t off = (regs->rip - p->code) % CALL_STUB_BYTES, rcx;
	uint64_t to = call_threads_told(p, regs->rip, &rcx);

	if (!to || (int64_t)regs->orig_rax < 0 || (off != CALL_SLOW_OVER && off != CALL_FAST_OVER))
		return false;
	regs->rip = regs->rcx = to;
	return true;
}

/* A thread that waits in a stub's call goes on behind the site. Any other one in the area leaves it
 * when it runs. */
static bool leaves(const struct call_patches *p, pid_t tid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return true; /* it has ended */
	if (regs.rip - p->code >= p->code_end - p->code)
		return true;
	return call_threads_waits(p, &regs) && !ptrace(PTRACE_SETREGS, tid, NULL, &regs);
}

int call_threads_leave(const struct call_patches *p, const struct tracee *t, const pid_t *tids,
		       uint32_t n)
{
	bool held = false;

	for (uint32_t i = 0; i < n; i++)
		held |= !leaves(p, tids[i]);
	return held || frames_hold(p, t, tids, n, note_in_code) ? -EBUSY : 0;
}
