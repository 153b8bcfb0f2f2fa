/* SPDX-License-Identifier: GPL-2.0 */
/* pids.h: numbers of processes and threads as the collector sees them, in its pid namespace. */
#ifndef BPF_PIDS_H
#define BPF_PIDS_H

#include <vmlinux.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

static __u32 self_tgid, self_level;
static struct pid_namespace *self_ns;

/* The number of a task in the collector's pid namespace, or @otherwise where it has none there. */
static __always_inline int pid_seen(struct task_struct *task, int otherwise)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = self_level;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return otherwise;
	struct upid upid = {};
	bpf_probe_read_kernel(&upid, sizeof(upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid));
	return upid.ns == self_ns ? upid.nr : otherwise;
}

/* Must run before anything that compares or reports numbers of processes; runs as the collector. */
static __always_inline void learn_self(void)
{
	struct task_struct *self = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(self, group_leader, thread_pid);
	struct upid upid = {};

	self_tgid = self->tgid;
	self_level = BPF_CORE_READ(pid, level);
	bpf_probe_read_kernel(&upid, sizeof(upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      self_level * bpf_core_type_size(struct upid));
	self_ns = upid.ns;
}

#endif
