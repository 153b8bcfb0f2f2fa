/* SPDX-License-Identifier: GPL-2.0 */
/* switches.h: where a recorded thread loses the processor in user mode, and when it gets it back:
 * between the two it executes nothing, as in a system call. Noted only where the recorder asks
 * for it.
 *
 *   user mode ──tick, fault──> kernel ──switch_off()──  another task  ──switch_on()──> user mode
 *                                      SWITCH                           ON
 *
 * In the midst of a probe's hit what the task sends is half made: then both notes follow
 * the hit. */
#ifndef BPF_SWITCHES_H
#define BPF_SWITCHES_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/capture_send.h"
#include "bpf/clocks.h"
#include "bpf/surroundings.h"

#define PF_EXITING 4
#define XOL_SLOT_BYTES 128 /* UPROBE_XOL_SLOT_BYTES */
#define INT3 0xcc
#ifndef EINTR
#define EINTR 4
#endif
#define INSN_BYTES 15 /* at most */

enum { OFF_TOLD = 1, OFF_UNTOLD = 2 };

/* A loss has two numbers of the order, of which the second is there for untold_on(). */
enum { LOSS_NUMBERS = 2 };

/* Of each processor: which number the order had reached when it last went from one task to another,
 * as far as this program was told. The kernel does not tell of each time (seen on 6.18: never when
 * threads of the first process give way there, nor by ftrace). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last_switch SEC(".maps");

static __always_inline __u64 *switched_last(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&last_switch, &zero);
}

/* What the kernel writes for a thread that goes on at another processor than it was told last, or
 * has just asked for it (struct rseq of linux/rseq.h): cpu_id_start and cpu_id. */
static __always_inline bool processor_changed(struct capture_state *cs, struct task_struct *task)
{
	if (!noting_switches)
		return false;
	__u64 rseq = bpf_core_field_exists(task->rseq) ? (__u64)BPF_CORE_READ(task, rseq) : 0;
	__u32 processor = bpf_get_smp_processor_id();

	if (rseq == cs->rseq && processor == cs->processor)
		return false;
	cs->rseq = rseq;
	cs->processor = processor;
	return rseq;
}

static __always_inline void processor_note(struct capture_state *cs)
{
	const __u32 bytes = 2 * sizeof(cs->processor);
	struct capture_bytes *c = bytes_room(cs, cs->rseq, bytes);

	__builtin_memcpy(c->data, &cs->processor, sizeof(cs->processor));
	__builtin_memcpy(c->data + sizeof(cs->processor), &cs->processor, sizeof(cs->processor));
	record_keep(cs, __builtin_offsetof(struct capture_bytes, data) + bytes);
}

/* Where it lost the processor, and that it has got it back. */
static __always_inline void note_off(struct capture_state *cs)
{
	struct capture_note *n = &cs->off;

	records_send(cs, BPF_RB_NO_WAKEUP);
	n->kind = RING_CAPTURE_SWITCH;
	n->place = ~0u;
	n->n_words = SWITCH_WORDS + (noting_surroundings ? SURROUNDINGS_SUMS : 0);
	n->number = cs->number++;
	cs->is_off = OFF_TOLD;
	if (bpf_ringbuf_output(&captures, n,
			       __builtin_offsetof(struct capture_note, words) + 8 * n->n_words,
			       BPF_RB_NO_WAKEUP))
		count(&capture_counters.lost);
}

/* Of its own memory: a hit may be preempted here, and cs->off is filled then. */
static __always_inline void note_on(struct capture_state *cs, __u64 order)
{
	struct capture_note *n = &cs->on;

	cs->is_off = 0;
	records_send(cs, BPF_RB_NO_WAKEUP);
	n->kind = RING_CAPTURE_ON;
	n->task = cs->off.task;
	n->pid = cs->off.pid;
	n->place = ~0u;
	n->n_words = 0;
	n->number = cs->number++;
	n->order = order;
	n->time_ns = cs->time_ns;
	if (bpf_ringbuf_output(&captures, n, __builtin_offsetof(struct capture_note, words),
			       BPF_RB_NO_WAKEUP))
		count(&capture_counters.lost);
}

/* At the end of a probe's program. If the task has lost the processor while that ran, this is told
 * now. That the task has got it back is told as well, unless capturing has ended since. */
static __always_inline void switch_after_hit(struct capture_state *cs)
{
	cs->busy = 0;
	if (cs->is_off != OFF_UNTOLD)
		return;
	note_off(cs);
	if (capturing)
		note_on(cs, __sync_fetch_and_add(&capture_order, 1));
}

/* A task runs, though the last that was told of it is SWITCH. Returns the earliest number at which
 * it can have got the processor: behind the last switch there that was told, and behind its own
 * loss, which may have been at another processor. */
static __always_inline __u64 untold_on(const struct capture_state *cs)
{
	__u64 *last = switched_last();
	__u64 order = last ? *(volatile __u64 *)last : 0, lost = cs->off.order;

	return order > lost ? order : lost + 1;
}

/* The current task runs, whatever was told of it. That is as a hit: it may be preempted here. */
static __always_inline void switch_untold(struct capture_state *cs)
{
	__u64 order = untold_on(cs);

	cs->busy = 1;
	barrier();
	if (cs->is_off == OFF_TOLD)
		note_on(cs, order);
	switch_after_hit(cs);
}

/* An instruction that is executed elsewhere for a probe, in a slot of the kernel's, is told as
 * where it stands, and without the register that has the address there for it meanwhile: rsi, rdi
 * or rbx (riprel_pre_xol() of arch/x86/kernel/uprobes.c). True: it has not been executed yet, or
 * leads on to behind itself.
 *
 * A call has gone where it leads by then, and has pushed the address behind it in the slot, which
 * the kernel puts right before the task goes on. @unsettled: where that lies, 0: nowhere. */
static __always_inline bool note_moved(struct capture_state *cs, struct uprobe_task *utask,
				       __u64 *unsettled)
{
	__u64 at = BPF_CORE_READ(utask, vaddr), slot = BPF_CORE_READ(utask, xol_vaddr);
	__u64 saved = BPF_CORE_READ(utask, autask.saved_scratch_register);
	__u64 *w = cs->off.words, pushed = 0;

	for (int i = 3; i < 8; i++)
		if ((i == 3 || i > 5) && w[i] - at - 1 < INSN_BYTES)
			w[i] = saved;
	if (cs->off.ip - slot >= XOL_SLOT_BYTES) {
		if (!bpf_probe_read_user(&pushed, sizeof(pushed), (void *)w[SURROUNDINGS_RSP]) &&
		    pushed - slot < XOL_SLOT_BYTES)
			*unsettled = w[SURROUNDINGS_RSP];
		return false;
	}
	cs->off.ip += at - slot;
	return true;
}

/* Where the task in user mode is: the place, and whether it may be the one before. Returns where
 * memory is not as it will be when the task goes on, 0: nowhere. */
static __always_inline __u64 note_place(struct capture_state *cs, struct task_struct *task)
{
	struct uprobe_task *utask = BPF_CORE_READ(task, utask);
	__u64 unsettled = 0;
	__u8 before = 0;

	cs->off.words[17] = 0;
	if (utask && BPF_CORE_READ(utask, active_uprobe) && note_moved(cs, utask, &unsettled))
		return 0;
	if (!bpf_probe_read_user(&before, sizeof(before), (void *)(cs->off.ip - 1)))
		cs->off.words[17] = before == INT3;
	return unsettled;
}

/* One that is stopped, as the recorder ends, goes on to be captured until that is over. */
static __always_inline struct task_state *not_ending(struct task_struct *task)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);

	return !st || !st->head.task || task->flags & PF_EXITING ? NULL : st;
}

/* Of a task that is recorded. Interrupts are off: where the kernel has no state ready, no other try
 * finds one either. */
static __always_inline struct capture_state *state_of_switched(struct task_struct *task)
{
	struct capture_state *cs =
		bpf_task_storage_get(&capture_states, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!cs)
		count(&capture_counters.unseen);
	return cs;
}

/* The current task. Where there is no room for its state, it seems to run on. */
static __always_inline void switch_off(struct task_struct *task)
{
	struct task_state *st = not_ending(task);
	struct capture_state *cs = st ? state_of_switched(task) : NULL;

	if (!cs || cs->entered)
		return;
	if (!cs->busy)
		switch_untold(cs);
	if (cs->is_off)
		return;
	struct pt_regs regs;
	bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task));
	/* In a system call that began before anything was captured. */
	if (!cs->number && (__s64)regs.orig_ax >= 0)
		return;
	if (!cs->busy) {
		state_begin(cs, st);
		clocks_send(cs);
	}
	cs->off.task = st->head.task;
	cs->off.pid = st->head.pid;
	time_note(cs);
	cs->off.time_ns = cs->time_ns;
	note_all(cs->off.words, &regs);
	cs->off.order = __sync_fetch_and_add(&capture_order, LOSS_NUMBERS);
	cs->off.ip = regs.ip;
	__u64 unsettled = note_place(cs, task);
	cs->off.sp = regs.sp;
	if (noting_surroundings)
		note_surroundings((struct general_regs *)cs->off.words,
				  (struct surroundings *)(cs->off.words + SWITCH_WORDS), unsettled);
	cs->has_run = 1;
	cs->is_off = OFF_UNTOLD;
	if (!cs->busy)
		note_off(cs);
}

/* Whether the task was stopped in user mode, or at the end of a system call that ended for that and
 * is not made again (epoll_wait). */
static __always_inline bool was_stopped_in_user_mode(const struct pt_regs *regs)
{
	return (__s64)regs->orig_ax < 0 || (__s64)regs->ax == -EINTR;
}

/* A task that was stopped in user mode when capturing began, or one that has lost the processor.
 * One of which that was not told seems to have run on. */
static __always_inline void switch_on(struct task_struct *task)
{
	struct task_state *st = not_ending(task);
	struct capture_state *cs = st ? state_of_switched(task) : NULL;

	if (!cs || cs->busy)
		return;
	time_note(cs);
	if (!cs->has_run && !cs->number) {
		struct pt_regs regs;

		bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task));
		cs->off.task = st->head.task;
		cs->off.pid = st->head.pid;
		cs->off.time_ns = cs->time_ns;
		note_all(cs->off.words, &regs);
		cs->off.order = cs->off.words[17] = 0;
		cs->off.ip = regs.ip;
		cs->off.sp = regs.sp;
		if (was_stopped_in_user_mode(&regs))
			note_off(cs);
	}
	if (cs->has_run && cs->number && !cs->is_off && !cs->entered)
		count(&capture_counters.unseen);
	cs->has_run = 1;
	if (!cs->is_off)
		return;
	if (processor_changed(cs, task)) {
		state_begin(cs, st);
		processor_note(cs);
	}
	note_on(cs, __sync_fetch_and_add(&capture_order, 1));
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_values, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!capturing || !noting_switches)
		return 0;
	__u64 *last = switched_last();
	if (BPF_CORE_READ(prev, mm))
		switch_off(prev);
	if (BPF_CORE_READ(next, mm))
		switch_on(next);
	if (last)
		*last = *(volatile __u64 *)&capture_order - 1;
	return 0;
}

#endif
