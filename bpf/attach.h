/* SPDX-License-Identifier: GPL-2.0 */
/* attach.h: sends the whole stack and the registers of a task that ran before it was recorded, when
 * it is first seen. */
#ifndef BPF_ATTACH_H
#define BPF_ATTACH_H

#include "bpf/batch.h"
#include "bpf/snapshot.h"
#include <bpf/bpf_tracing.h>

struct attach_scan {
	struct stack_state *stacks;
	__u64 at, sure, end; /* up to `sure` whatever the ring has room for */
	bool cut;	     /* it has no room for what follows */
};

/* One step of attach_send(): up to the end of the page, which may be one of a large array that was
 * never touched: then it is not there. Past `sure` half of the ring is left to events. */
static long attach_step(__u32 step, struct attach_scan *scan)
{
	struct attach_stack *a = &scan->stacks->attach;
	__u64 at = scan->at, bytes = 4096 - (at & 4095);

	barrier_var(bytes);
	if (bytes > 8 * SNAPSHOT_WORDS || at >= scan->end)
		return 1;
	if (at >= scan->sure && 2 * bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >
					bpf_ringbuf_query(&events, BPF_RB_RING_SIZE)) {
		scan->cut = true;
		return 1;
	}
	scan->at = at + bytes;
	if (bpf_probe_read_user(a->words, bytes, (void *)at))
		return 0;
	a->addr = at;
	a->n_words = bytes / 8;
	scan->cut = bpf_ringbuf_output(&events, a, sizeof(*a) - sizeof(a->words) + bytes,
				       BPF_RB_NO_WAKEUP) != 0;
	return scan->cut;
}

static long note_end(struct task_struct *task, struct vm_area_struct *vma, struct attach_scan *scan)
{
	scan->end = vma->vm_end;
	return 0;
}

/* By their DWARF number. */
static __always_inline void note_registers(const struct pt_regs *from, __u64 *regs)
{
	regs[0] = from->ax;
	regs[1] = from->dx;
	regs[2] = from->cx;
	regs[3] = from->bx;
	regs[4] = from->si;
	regs[5] = from->di;
	regs[6] = from->bp;
	regs[7] = from->sp;
	regs[8] = from->r8;
	regs[9] = from->r9;
	regs[10] = from->r10;
	regs[11] = from->r11;
	regs[12] = from->r12;
	regs[13] = from->r13;
	regs[14] = from->r14;
	regs[15] = from->r15;
}

/* Prepares attach_send() for a task that is at @regs, but for ip and sp, which a trampoline of a
 * patched instruction may have changed. snapshot_send() has made the state that this uses. */
static __always_inline bool attach_begin(struct task_state *st, const struct pt_regs *regs,
					 __u64 ip, __u64 sp)
{
	struct stack_state *stacks =
		bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0, 0);

	if (!stacks)
		return false;
	stacks->attach.kind = RING_ATTACH;
	stacks->attach.task = st->head.task;
	stacks->attach.ip = ip;
	note_registers(regs, stacks->attach.regs);
	stacks->attach.regs[7] = sp;
	return true;
}

/* Sends the registers and the stack, from @sp up to the end of what is mapped there, of a task that
 * ran before it was recorded; where that cannot be found out just now, only the part that is near.
 */
__noinline int attach_send(__u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_state *stacks = bpf_task_storage_get(&stacks_of_tasks, task, 0, 0);

	if (!stacks)
		return 0;
	struct attach_scan scan = {
		.stacks = stacks,
		.at = sp & ~7ull,
		.sure = sp + 8 * DEEP_WORDS,
		.end = sp + 8 * DEEP_WORDS,
	};
	bpf_find_vma(task, sp, note_end, &scan, 0);
	bpf_loop(ATTACH_WORDS / SNAPSHOT_WORDS, attach_step, &scan, 0);
	if (scan.cut)
		count(&counters.stacks_cut);
	return 0;
}

#endif
