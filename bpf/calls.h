/* SPDX-License-Identifier: GPL-2.0 */
/* calls.h: system calls of a process that makes them by stubs (offline/capture/call_area.h), where
 * the kernel's hooks of system calls are not there. Most are noted by the stubs; what is seen here:
 *
 *   call_begin, call_over  probes in a stub, around a call that it makes slowly
 *   rt_sigreturn()         by its call_begin, as nothing comes behind it
 *   on_new_task_values     a task is made that would write to the lane of the one that makes it
 *   call_signalled()       a signal: what it finds in the stubs' code is told as if they were none;
 *                          and a call that is over, but not yet noted
 *
 * Included by values.bpf.c, behind what it needs of that. */
#ifndef BPF_CALLS_H
#define BPF_CALLS_H

#include "offline/capture/call_area.h"

#define SYS_RT_SIGRETURN 15
#define CALL_NUMBER_ANY 0xffffffffu
#define CALL_HANDLERS_LEFT 4 /* so many signals at once, each as a handler returns */

volatile __u64 call_code = 0, call_code_end = 0, call_kinds = 0, call_restore = 0;
volatile struct call_zones call_zones = {};

enum call_where {
	CALL_ELSEWHERE,
	CALL_BEFORE,	    /* nothing of it is done */
	CALL_BEFORE_PARTLY, /* and rax, rcx, r11 and flags are not as they were, */
	CALL_BEFORE_HIDDEN, /* or more registers */
	CALL_SLOWLY_OVER,
	CALL_NOW_OVER, /* and not noted, unless the lane says that it is told */
	CALL_NOTED,    /* or is about to be */
	CALL_UNTOLD,   /* over, and neither is its result known any more */
	CALL_BEHIND,   /* it is over and told */
};

/* @packed: as a note has it. */
static __always_inline void unpack(struct pt_regs *r, __u64 packed)
{
	r->ax = (__s64)(__s32)packed;
	r->r11 = packed >> 32 & 0xfff;
	r->ip = call_code + (packed >> 44) - CALL_FAST_OVER + CALL_BACK;
}

static __always_inline enum call_where find_in_stub(struct pt_regs *r)
{
	__u64 in = (r->ip - call_code) % CALL_STUB_BYTES, stub = r->ip - in;

	if (in < CALL_SLOW_SYSCALL) {
		r->ip = stub;
		return CALL_BEFORE;
	}
	if (in == CALL_SLOW_SYSCALL)
		return CALL_BEFORE;
	if (in > CALL_MOVED)
		return CALL_BEHIND;
	if ((in >= CALL_FAST && in < CALL_FAST_OVER) || (in >= CALL_MISS && in < CALL_MOVED)) {
		r->ip = stub + CALL_SLOW_SYSCALL;
		r->flags |= CAPTURE_IN_STUB;
		return CALL_BEFORE_PARTLY;
	}
	r->ip = stub + CALL_BACK;
	return in == CALL_SLOW_OVER   ? CALL_SLOWLY_OVER
	       : in == CALL_FAST_OVER ? CALL_NOW_OVER
				      : CALL_BEHIND;
}

static __always_inline enum call_where find_in_note(struct capture_state *cs, struct pt_regs *r)
{
	struct call_note *n = (struct call_note *)cs->words;

	if (bpf_probe_read_user(n, sizeof(*n), (void *)r->r11))
		return CALL_UNTOLD;
	r->di = n->args[0];
	r->si = n->args[1];
	r->dx = n->args[2];
	r->r10 = n->args[3];
	r->r8 = n->args[4];
	r->r9 = n->args[5];
	unpack(r, n->packed);
	return CALL_NOTED;
}

static __always_inline enum call_where find_in_shared(struct capture_state *cs, struct pt_regs *r)
{
	__u64 off = r->ip - call_code;

	if (off < call_zones.post)
		return CALL_ELSEWHERE;
	if (off >= call_zones.sigreturn) {
		r->ip = call_restore;
		return CALL_BEFORE_HIDDEN;
	}
	if (off < call_zones.packed) {
		r->ip = r->cx - CALL_FAST_OVER + CALL_BACK;
		r->ax = (__s64)(__s32)(off < call_zones.joined ? r->ax : r->r11);
		r->r11 = (off < call_zones.shifted ? r->r11 : r->r11 >> 32) & 0xfff;
		return CALL_NOW_OVER;
	}
	if (off >= call_zones.saved && off < call_zones.told)
		return find_in_note(cs, r);
	if (off == call_zones.unpacked) {
		r->ip = call_code + r->cx - CALL_FAST_OVER + CALL_BACK;
		return CALL_BEHIND;
	}
	if (off == call_zones.back) {
		r->ip = r->cx - CALL_LEAVE + CALL_BACK;
		return CALL_BEHIND;
	}
	if (off >= call_zones.keeps && off < call_zones.saved &&
	    bpf_probe_read_user(&r->r10, sizeof(r->r10), (void *)(r->r10 + CALL_KEPT_R10)))
		return CALL_UNTOLD;
	unpack(r, r->cx);
	return off < call_zones.reserved ? CALL_NOW_OVER
	       : off < call_zones.saved	 ? CALL_NOTED
					 : CALL_BEHIND;
}

/* Where a task with the registers in cs->regs is. They become what they would be without stubs, but
 * rcx behind a call; ip stays in the stub, which the recorder knows the site of. Global, as others,
 * so that it is verified once. */
__noinline int call_find(struct capture_state *cs)
{
	if (!cs || cs->regs.ip < call_code || cs->regs.ip >= call_code_end)
		return CALL_ELSEWHERE;
	struct pt_regs *r = &cs->regs;
	return r->ip - call_code < CALL_STUBS ? find_in_shared(cs, r) : find_in_stub(r);
}

static __always_inline __u32 number_of(const struct pt_regs *r)
{
	__u64 stub = (r->ip - call_code - CALL_STUBS) >> CALL_STUB_SHIFT;
	struct call_kind kind = {};

	bpf_probe_read_user(&kind, sizeof(kind), (void *)(call_kinds + stub * sizeof(kind)));
	return kind.nr;
}

/* No function of its own: what follows uses all the frames that the verifier allows. */
static __always_inline void end_here(struct capture_state *cs, __u32 nr)
{
	end_call(cs, &cs->regs, nr, cs->regs.ax);
}

/* struct ucontext, as it lies at the stack pointer when rt_sigreturn() is called: of struct
 * sigcontext r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags. */
struct call_frame {
	__u64 before[5];
	__u64 r[18];
};

/* Where the registers are at the call of rt_sigreturn(), they become those that it goes back to. 0:
 * they cannot be read. Global, as call_find(). */
__noinline int frame_take(struct capture_state *cs)
{
	if (!cs)
		return 0;
	struct call_frame *f = (struct call_frame *)cs->words;
	struct pt_regs *r = &cs->regs;

	if (bpf_probe_read_user(f, sizeof(*f), (void *)r->sp))
		return 0;
	r->r8 = f->r[0];
	r->r9 = f->r[1];
	r->r10 = f->r[2];
	r->r11 = f->r[3];
	r->r12 = f->r[4];
	r->r13 = f->r[5];
	r->r14 = f->r[6];
	r->r15 = f->r[7];
	r->di = f->r[8];
	r->si = f->r[9];
	r->bp = f->r[10];
	r->bx = f->r[11];
	r->dx = f->r[12];
	r->ax = f->r[13];
	r->cx = f->r[14];
	r->sp = f->r[15];
	r->ip = f->r[16];
	r->flags = f->r[17];
	return 1;
}

/* Behind the probe at the begin of rt_sigreturn() it is told that the handler is over: another
 * signal that comes by then is told where that one goes back to. 0: that cannot be read. */
static __always_inline int handlers_leave(struct capture_state *cs)
{
	for (int i = 0; i < CALL_HANDLERS_LEFT; i++) {
		__u64 in = cs->regs.ip - call_restore;

		if (in <= CALL_SLOW || in > CALL_SLOW_SYSCALL)
			return 1;
		if (!frame_take(cs))
			return 0;
	}
	return 0;
}

/* A signal has found the task with cs->regs, which become what is to be told. True: of that, ip and
 * sp alone. A call that is over, but neither noted nor told by then, is told. */
static __always_inline bool call_signalled(struct capture_state *cs)
{
	struct call_lane lane = {};
	__u64 sp = cs->regs.sp;
	int where = handlers_leave(cs) ? call_find(cs) : CALL_UNTOLD;
	__u32 nr = cs->call_nr;

	cs->in_stub = where != CALL_ELSEWHERE || cs->regs.sp != sp;
	/* Unless another signal has found it there, and nothing was noted since. */
	bool tells = where == CALL_NOTED &&
		     !(lane_read(&lane) && cs->noted_head && lane.head == cs->noted_head);
	noted_send(cs, tells);
	if (where == CALL_NOW_OVER)
		tells = lane_read(&lane) && lane.entered;
	if (where == CALL_BEFORE_PARTLY)
		cs->regs.ax = number_of(&cs->regs);
	if (where == CALL_BEFORE || where == CALL_BEFORE_PARTLY || where == CALL_BEFORE_HIDDEN ||
	    where == CALL_NOW_OVER ||
	    where == CALL_NOTED) { /* when it began the kernel has not seen, or it has not begun */
		cs->entered = cs->channel = 0;
		nr = number_of(&cs->regs);
	}
	if (where == CALL_SLOWLY_OVER) {
		tells = !cs->call_told;
		nr = cs->call_nr;
		cs->call_told = 1;
	}
	if (where == CALL_UNTOLD)
		cs->number++; /* the recorder sees that one is missing */
	if (tells)
		end_here(cs, nr);
	return where == CALL_BEFORE_HIDDEN;
}

/* The number of the call that the registers in @r are before, in the slow part of a stub. */
static __always_inline __u32 slow_number(const struct pt_regs *r)
{
	__u32 nr = number_of(r);

	return nr == (__u16)CALL_NUMBER_ANY ? r->ax : nr;
}

/* A handler returns. What it goes back to in a stub's call is told without the stub. */
static __always_inline void end_handler(struct capture_state *cs)
{
	struct pt_regs *r = &cs->regs;
	struct call_lane lane = {};

	if (!frame_take(cs) || !handlers_leave(cs)) {
		cs->number++;
		return;
	}
	__u64 ip = r->ip;
	int where = call_find(cs);
	if (where == CALL_BEFORE_PARTLY)
		r->ax = number_of(r);
	end_here(cs, SYS_RT_SIGRETURN);
	cs->call_told = where == CALL_SLOWLY_OVER;
	cs->noted_head = where == CALL_NOTED && lane_read(&lane) ? lane.head : 0;
	/* Behind the probe at its begin, which it does not meet again. */
	if (where == CALL_BEFORE && (ip - call_code) % CALL_STUB_BYTES != CALL_SLOW) {
		cs->call_nr = slow_number(r);
		begin_call(cs, r, cs->call_nr);
	}
}

/* A new task with the memory and the thread pointer of the one that makes it. That one does not
 * wait for it, as it would in vfork(): both would write to one lane, and the recorder closes it. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_new_task_values, struct task_struct *child)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!capturing || !call_lanes || BPF_CORE_READ(child, mm) != BPF_CORE_READ(task, mm) ||
	    BPF_CORE_READ(child, vfork_done) || child->thread.fsbase != task->thread.fsbase)
		return 0;
	struct capture_state *cs = recorded();
	if (!cs)
		return 0;
	lane_send(cs, LANE_SHARED);
	records_send(cs, BPF_RB_NO_WAKEUP);
	return 0;
}

/* A probe in a stub: the task that met it, and in cs->regs its registers. NULL: it is not recorded.
 */
static __always_inline struct capture_state *at_probe(struct pt_regs *ctx)
{
	struct capture_state *cs = capturing ? recorded() : NULL;

	if (cs)
		bpf_probe_read_kernel(&cs->regs, sizeof(cs->regs), ctx);
	return cs;
}

SEC("uprobe.multi")
int call_begin(struct pt_regs *ctx)
{
	__u32 nr = bpf_get_attach_cookie(ctx);
	struct capture_state *cs = at_probe(ctx);

	if (!cs)
		return 0;
	noted_send(cs, 0);
	if (nr == CALL_NUMBER_ANY)
		nr = cs->regs.ax;
	begin_call(cs, &cs->regs, nr);
	cs->call_nr = nr;
	cs->call_told = 0;
	if (nr == SYS_RT_SIGRETURN)
		end_handler(cs);
	return 0;
}

SEC("uprobe.multi")
int call_over(struct pt_regs *ctx)
{
	__u32 nr = bpf_get_attach_cookie(ctx);
	struct capture_state *cs = at_probe(ctx);

	if (!cs)
		return 0;
	if (cs->call_told) { /* when a handler began */
		cs->call_told = 0;
		return 0;
	}
	if (makes_task(nr)) { /* it may be the new one */
		clocks_skip(cs);
		lane_send(cs, 0);
	} else {
		noted_send(cs, 0);
	}
	cs->regs.ip += CALL_BACK - CALL_SLOW_OVER;
	end_here(cs, nr == CALL_NUMBER_ANY ? cs->call_nr : nr);
	return 0;
}

#endif
