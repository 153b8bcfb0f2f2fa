/* SPDX-License-Identifier: GPL-2.0 */
/* follow.h: the programs that follow traced tasks through fork, exec and exit, and those that the
 * collector runs over all of them: to adopt a process and to stop. */
#ifndef BPF_FOLLOW_H
#define BPF_FOLLOW_H

#include "bpf/bindings.h"
#include "bpf/lane.h"
#include "bpf/signal.h"
#include "bpf/tasks.h"
#include <bpf/bpf_tracing.h>

/* Of x86-64. */
#define SYS_EXIT 60
#define SYS_EXIT_GROUP 231

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_state *st = bpf_task_storage_get(&tasks, parent, 0, 0);
	__u32 tgid = child->tgid;
	__s32 pid = 0;

	if (!st || st->stopped)
		return 0;
	if (tgid != (__u32)parent->tgid) {
		if (!follow)
			return 0;
		pid = pid_seen(BPF_CORE_READ(child, group_leader), 0);
		if (!trace_all && bpf_map_update_elem(&tracked, &tgid, &pid, BPF_ANY)) {
			count(&counters.untracked);
			return 0;
		}
	}
	/* What it does until every probe is in place is not seen. */
	bool open = enabled;
	lane_note_last(st);
	struct task_state *born = task_new(child, st->head.task, !open);
	if (born && st->area)
		lane_inherit(st, born, parent, child);
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(parent);
	struct pt_regs *its_regs = (struct pt_regs *)bpf_task_pt_regs(child);
	/* On a stack of its own it does not go on, it starts. */
	if (!born || !open || regs->sp != its_regs->sp)
		return 0;
	/* As what it goes on from: */
	born->generation = st->generation;
	born->last_cfa = st->last_cfa;
	/* What led here in silence was done once, by the parent: whoever made the system call, code
	 * of ours or of a module that is not traced. */
	place_send(st, NULL, st->head.pid);
	__u32 n = batch_room(st, HIT_RECORDS);
	batch_append(st, &n, (__u32)RECORD_FORK << HEAD_RECORD_SHIFT, born->head.task);
	st->n = n;
	return 0;
}

/* Since Linux 6.10; the program that ends here still has its memory. */
SEC("tp_btf/sched_prepare_exec")
int BPF_PROG(on_prepare_exec, struct task_struct *task, struct linux_binprm *bprm)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);

	if (st && !st->stopped) {
		lane_note_last(st);
		lane_give_back(st);
	}
	/* Where it has come is of no interest before its first hit. */
	if (st && enabled && !st->stopped && !st->attached && st->last_cfa)
		place_send(st, NULL, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!st)
		return 0;
	batch_send(st);
	st->area = st->lane = 0;
	st->lane_pos = st->lane_lost = 0;
	st->fault.signal = 0;
	st->head.execs++;
	__builtin_memset(st->base, 0, sizeof(st->base));
	struct process_record *r = process_reserve(PROCESS_EXEC, task, st);
	if (r) {
		bpf_probe_read_kernel_str(r->file, sizeof(r->file), bprm->filename);
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	bool last = BPF_CORE_READ(task, signal, live.counter) == 0;
	__u32 tgid = task->tgid;

	if (last && !trace_all)
		bpf_map_delete_elem(&tracked, &tgid);
	if (!st || st->stopped)
		return 0;
	bool open = !closing;
	__sync_fetch_and_add(&counters.live, -1);
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	bool asked = regs->orig_ax == SYS_EXIT || regs->orig_ax == SYS_EXIT_GROUP;
	if (st->generation != generation)
		batch_pause(st);
	/* Since Linux 6.16 it still has its memory here. */
	if (open && enabled && asked && !st->attached && BPF_CORE_READ(task, mm))
		place_send(st, NULL, st->head.pid);
	if (BPF_CORE_READ(task, mm)) {
		lane_note_last(st);
		lane_give_back(st);
	}
	batch_send(st);
	st->stopped = 1;
	struct process_record *r = process_reserve(open ? PROCESS_EXIT : PROCESS_STOP, task, st);
	if (!r)
		return 0;
	r->exit_code = task->exit_code;
	r->last = last;
	r->fault = st->fault;
	if (open) {
		r->sp = regs->sp;
		r->ip = regs->ip;
		r->stopped = !enabled || !asked;
	}
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Read once for each process to adopt: makes a state for each thread of adopt_pid,
 * unless a filter keeps that out. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	learn_self();
	if (!adopt_pid)
		learn_programs();
	if (!task)
		return 0;
	__u32 tgid = task->tgid;
	__s32 pid = pid_seen(BPF_CORE_READ(task, group_leader), 0);
	if (!adopt_pid || pid != (int)adopt_pid)
		return 0;
	if (trace_all && !is_wanted(task))
		return 0;
	if (!trace_all && bpf_map_update_elem(&tracked, &tgid, &pid, BPF_ANY)) {
		count(&counters.untracked);
		return 0;
	}
	if (task_new(task, 0, adopt_running))
		__sync_fetch_and_add(&adopted, 1);
	return 0;
}

/* Read after the probes are gone, until stop_pending stays 0: sends what each task still holds. */
SEC("iter/task")
int stop(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	struct task_state *st = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!st || st->stopped)
		return 0;
	if (st->generation != generation)
		batch_pause(st);
	batch_send(st);
	struct process_record *r = process_reserve(PROCESS_STOP, task, st);
	if (!r) {
		__sync_fetch_and_add(&stop_pending, 1);
		return 0;
	}
	st->stopped = 1;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
