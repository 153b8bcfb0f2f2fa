/* SPDX-License-Identifier: GPL-2.0 */
/* tasks.h: which tasks are traced, under which numbers the collector knows them, and the records of
 * their lives, which go to the ring `process`. */
#ifndef BPF_TASKS_H
#define BPF_TASKS_H

#include "bpf/batch.h"
#include "bpf/pids.h"
#include <bpf/bpf_core_read.h>

/* By the kernel's own number of the process: that in the collector's pid namespace, 0: none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __s32);
} tracked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} process SEC(".maps");

static __u32 n_tasks;

static __always_inline struct process_record *process_reserve(__u32 kind, struct task_struct *task,
							      struct task_state *st)
{
	struct process_record *r = bpf_ringbuf_reserve(&process, sizeof(*r), 0);

	if (!r) {
		count(&counters.process_lost);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->task = st->head.task;
	r->lost = st->head.lost;
	r->execs = st->head.execs;
	r->time_ns = bpf_ktime_get_ns();
	r->tid = pid_seen(task, task->pid);
	r->pid = pid_seen(BPF_CORE_READ(task, group_leader), task->tgid);
	r->start_ns = task->start_boottime;
	BPF_CORE_READ_STR_INTO(&r->comm, task, comm);
	return r;
}

static struct task_state *task_new(struct task_struct *task, __u32 parent, bool attached)
{
	struct task_state *st = NULL;

	/* The kernel keeps one or two such states ready on each processor and makes more in an
	 * interrupt of its own, which comes while this tries again. */
	for (int i = 0; i < 64 && !st; i++)
		st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) {
		count(&counters.hits_without_task);
		return NULL;
	}
	/* Its parent's fork may meet the collector here, which adopts its process. */
	if (st->head.task ||
	    __sync_val_compare_and_swap(&st->head.task, 0, __sync_add_and_fetch(&n_tasks, 1)))
		return st;
	st->head.kind = RING_BATCH;
	st->attached = attached;
	st->generation = generation;
	st->head.pid = pid_seen(BPF_CORE_READ(task, group_leader), task->tgid);
	count(&counters.live);
	struct process_record *r = process_reserve(PROCESS_TASK, task, st);
	if (r) {
		r->parent = parent;
		r->attached = attached;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	return st;
}

#define PID_LEVELS 32 /* MAX_PID_NS_LEVEL */

/* Whether @task has a number in the pid namespace that is asked for. */
static __noinline bool is_in_pid_namespace(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = pid ? BPF_CORE_READ(pid, level) : 0;

	for (__u32 i = 0; i < PID_LEVELS; i++) {
		struct upid upid = {};

		if (!pid || i > level)
			break;
		bpf_probe_read_kernel(&upid, sizeof(upid),
				      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
					      i * bpf_core_type_size(struct upid));
		if (upid.ns && BPF_CORE_READ(upid.ns, ns.inum) == in_pid_namespace)
			return true;
	}
	return false;
}

#define CGROUP_LEVELS 64

/* Whether @task is in the cgroup that is asked for, or in one below it. The kernel tells at once,
 * but of the current task only. */
static __noinline bool is_in_cgroup(struct task_struct *task)
{
	if (task == bpf_get_current_task_btf())
		return bpf_current_task_under_cgroup(&cgroups, 0) == 1;
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (__u32 i = 0; group && i < CGROUP_LEVELS; i++) {
		if (BPF_CORE_READ(group, kn, id) == in_cgroup)
			return true;
		struct cgroup_subsys_state *above = BPF_CORE_READ(group, self.parent);
		group = above ? (void *)above - bpf_core_field_offset(struct cgroup, self) : NULL;
	}
	return false;
}

/* trace_all: whether @task is one of those. */
static __always_inline bool is_wanted(struct task_struct *task)
{
	if ((__u32)task->tgid == self_tgid)
		return false;
	if (in_cgroup && !is_in_cgroup(task))
		return false;
	return !in_pid_namespace || is_in_pid_namespace(task);
}

/* First hit of a task that has no state yet. */
static __noinline struct task_state *task_found(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid;

	if (trace_all ? !is_wanted(task) : !bpf_map_lookup_elem(&tracked, &tgid))
		return NULL;
	return task_new(task, 0, task->start_boottime < enabled_boot_ns);
}

#endif
