/* SPDX-License-Identifier: GPL-2.0 */
/* signal.h: signals that are delivered to traced tasks, in the order of their events: where each
 * finds the task, and what becomes of it. Runs as the task, when the signal comes out of the queue
 * and before the handler's frame is made; costs nothing otherwise. */
#ifndef BPF_SIGNAL_H
#define BPF_SIGNAL_H

#include "bpf/attach.h"
#include "bpf/batch.h"
#include "bpf/lane.h"
#include "bpf/snapshot.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define SA_ONSTACK 0x08000000
#define SIG_IGN 1

/* The handler, and the stack that it runs on where that is not the one at @sp. */
static __always_inline void note_handler(struct task_struct *task, struct k_sigaction *ka, __u64 sp,
					 struct signal_note *note)
{
	__u64 alt = task->sas_ss_sp, bytes = task->sas_ss_size;

	note->handler = (__u64)BPF_CORE_READ(ka, sa.sa_handler);
	if (note->handler == SIG_IGN)
		note->handler = 0;
	if (!note->handler || !(BPF_CORE_READ(ka, sa.sa_flags) & SA_ONSTACK) || !bytes)
		return;
	if (sp > alt && sp - alt <= bytes) /* there already */
		return;
	note->alt = alt;
	note->alt_bytes = bytes;
}

/* The current task ran before it was recorded, and this is the first that is seen of it. Global, so
 * that it is verified once. */
__noinline int attach_here(struct task_state *st)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (!st)
		return 0;
	__u32 n = batch_room(st, HIT_RECORDS);
	if (attach_begin(st, regs, regs->ip, regs->sp))
		attach_send(regs->sp);
	st->attached = 0;
	st->generation = generation; /* it has had no hit of another */
	batch_append(st, &n, (__u32)RECORD_ATTACH << HEAD_RECORD_SHIFT, 0);
	if (with_times) {
		st->last_ns = bpf_ktime_get_ns();
		batch_append(st, &n, RECORD_TIME << HEAD_RECORD_SHIFT, st->last_ns);
	}
	st->n = n;
	batch_send(st);
	return 0;
}

/* Sends the registers and the stack of the current task, as an event of its own after what it has
 * sent so far. @ka: of the handler that a signal is for, NULL: none. @pid: the process that the
 * collector can still unwind it in, or 0. */
static __noinline int place_send(struct task_state *st, struct k_sigaction *ka, __s32 pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 sp = regs->sp;
	__u32 module = st->last_module & (BATCH_MODULES - 1);

	lane_note_last(st);
	batch_send(st);
	bool told = snapshot_send(sp);
	if (st->attached && !told) /* what comes next tells where it is */
		return 0;
	if (st->attached)
		attach_here(st);
	/* More than up to the last hit's frame; where that is too much, no further. */
	__u64 known = st->last_cfa + DEEP_MARGIN, near = sp + 8 * DEEP_NEAR_WORDS;
	bool above = st->last_cfa - sp < 8 * DEEP_WORDS;
	if (told &&
	    !deep_send(above && known > near ? known : near, st->base[module],
		       module_bytes[module]) &&
	    above)
		deep_send(known, st->base[module], module_bytes[module]);
	struct signal_note *note = bpf_ringbuf_reserve(&events, sizeof(*note), 0);
	if (note) {
		__builtin_memset(note, 0, sizeof(*note));
		note->kind = RING_SIGNAL;
		note->task = st->head.task;
		note->time_ns = bpf_ktime_get_ns();
		note->lost = st->head.lost;
		note->execs = st->head.execs;
		note->pid = pid;
		note->has_snapshot = told;
		note->snapshot = st->snapshots - 1;
		if (ka)
			note_handler(task, ka, sp, note);
		note->ip = regs->ip;
		note_registers(regs, note->regs);
		if (!ka) /* in the system call: what is behind that need not be of the function */
			note->ip--;
		bpf_ringbuf_submit(note, BPF_RB_NO_WAKEUP);
	} else if (ka) {
		st->head.lost++; /* what follows is of a handler that nothing tells of */
	}
	st->head.snapshots = st->snapshots;
	return 0;
}

#define SIGNALS_OWN_FIRST 32
#define SIGNALS_OWN_LAST 34
#define SIGILL 4
#define SIGTRAP 5
#define SIGBUS 7
#define SIGSEGV 11

/* What a probe that does harm would end in. */
static __always_inline void note_fault(struct task_state *st, int sig, struct kernel_siginfo *info)
{
	if (sig != SIGSEGV && sig != SIGILL && sig != SIGTRAP && sig != SIGBUS)
		return;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	st->fault.code = BPF_CORE_READ(info, si_code);
	st->fault.addr = 0;
	if (st->fault.code > 0)
		st->fault.addr = (__u64)BPF_CORE_READ(info, _sifields._sigfault._addr);
	st->fault.ip = regs->ip;
	st->fault.time_ns = bpf_ktime_get_ns();
	st->fault.signal = sig;
}

/* Signals that C libraries use to cancel threads, to set their user ids and the like: in their own
 * handlers, which they let no program block. As long as such a signal is blocked, its handler has
 * not returned. */
static __always_inline void note_own_signal(struct task_state *st, int sig)
{
	st->own_signal = sig >= SIGNALS_OWN_FIRST && sig <= SIGNALS_OWN_LAST ? sig : 0;
}

/* Whether the handler of the last signal has not returned; false as well where that is not known.
 */
static __always_inline bool is_in_own_handler(const struct task_state *st)
{
	__u64 blocked = bpf_get_current_task_btf()->blocked.sig[0];

	return st->own_signal && blocked >> ((st->own_signal - 1) & 63) & 1;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int sig, struct kernel_siginfo *info, struct k_sigaction *ka)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);

	if (st && enabled && !st->stopped) {
		note_fault(st, sig, info);
		note_own_signal(st, sig);
		place_send(st, ka, st->head.pid);
	}
	return 0;
}

#endif
