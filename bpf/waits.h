/* SPDX-License-Identifier: GPL-2.0 */
/* waits.h: when threads of patched processes stop and go on, and how far their lanes have come by
 * then. What was written before happened by the one time, what follows after the other. Each such
 * note goes to the ring by itself: the thread may have been stopped in the midst of a probe's hit,
 * which has its batch in hands. */
#ifndef BPF_WAITS_H
#define BPF_WAITS_H

#include "bpf/lane.h"
#include <bpf/bpf_tracing.h>

static __always_inline void wait_begin(struct task_struct *task)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	struct patch_ring ring;

	if (!st || !st->area || st->stopped || !enabled || !task->mm ||
	    !ring_read(BPF_CORE_READ(task, thread.fsbase), &ring))
		return;
	st->wait.area = st->area;
	st->wait.lane = ring.lane;
	st->wait.pos = ring_position(&ring);
	st->wait.from_ns = bpf_ktime_get_ns();
}

static __always_inline void wait_end(struct task_struct *task)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!st || !st->wait.from_ns)
		return;
	st->wait.kind = RING_WAIT;
	st->wait.task = st->head.task;
	st->wait.to_ns = bpf_ktime_get_ns();
	/* Where there is no room, what is known of times is less. */
	bpf_ringbuf_output(&events, &st->wait, sizeof(st->wait), BPF_RB_NO_WAKEUP);
	st->wait.from_ns = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	wait_begin(prev);
	wait_end(next);
	return 0;
}

#endif
