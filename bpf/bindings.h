/* SPDX-License-Identifier: GPL-2.0 */
/* bindings.h: whether a process is as the plan of a module assumes. This is asked for each load
 * address that a task meets, and found out once for each process: the slots are filled before any
 * code of the module runs, and the program of a process changes by exec alone, which forgets the
 * address. */
#ifndef BPF_BINDINGS_H
#define BPF_BINDINGS_H

#include "bpf/batch.h"
#include <bpf/bpf_core_read.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bound_slot);
} bound SEC(".maps");

/* The files that known programs are, as the kernel has them: they stay, since the collector has
 * them open. */
static const void *known_programs[KNOWN_PROGRAMS];

/* Run as the collector, once. */
static __always_inline void learn_programs(void)
{
	struct task_struct *self = bpf_get_current_task_btf();
	struct file **files = BPF_CORE_READ(self, files, fdt, fd);

	for (__u32 i = 0; i < KNOWN_PROGRAMS && i < n_known_programs; i++) {
		struct file *file = NULL;

		bpf_probe_read_kernel(&file, sizeof(file), files + known_program_fds[i]);
		known_programs[i] = BPF_CORE_READ(file, f_inode);
	}
}

static __always_inline bool is_known_program(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const void *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);

	for (__u32 i = 0; i < KNOWN_PROGRAMS; i++)
		if (inode && known_programs[i] == inode)
			return true;
	return false;
}

struct bound_check {
	__u64 base;
	__u32 first, differs;
};

static long bound_step(__u32 i, struct bound_check *c)
{
	__u32 at = c->first + i;
	struct bound_slot *slot = bpf_map_lookup_elem(&bound, &at);
	__u64 value = 0;

	if (!slot || bpf_probe_read_user(&value, sizeof(value), (void *)(c->base + slot->slot)) ||
	    value != c->base + slot->func) {
		c->differs = 1;
		return 1;
	}
	return 0;
}

/* What was found out about a module in a process and program: libcrypto has 3,000 slots, and to
 * look at them again in each thread would take 0.3 ms. */
struct bound_key {
	__u64 start_ns; /* of the process: with tgid, no other is the same */
	__u64 base;
	__u32 tgid, exec_id;
	__u32 plans, module;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct bound_key);
	__type(value, __u32);
} bound_found SEC(".maps");

/* Whether the plan of @module, one of @plans, holds for the current task, in which it lies at
 * @base. Global, so that it is verified once. */
__noinline int is_as_planned(__u32 plans, __u32 module, __u64 base)
{
	__u32 half = plans & 1, at = half * BATCH_MODULES + (module & (BATCH_MODULES - 1));
	struct bound_check check = {.base = base, .first = half * half_bound + bound_first[at]};
	struct task_struct *task = bpf_get_current_task_btf();
	struct bound_key key = {
		.start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
		.base = base,
		.tgid = task->tgid,
		.exec_id = BPF_CORE_READ(task, self_exec_id),
		.plans = plans,
		.module = module,
	};

	if (by_known_programs[at] && !is_known_program())
		return false;
	__u32 *found = bound_count[at] ? bpf_map_lookup_elem(&bound_found, &key) : NULL;
	if (found)
		return !*found;
	bpf_loop(bound_count[at], bound_step, &check, 0);
	if (bound_count[at])
		bpf_map_update_elem(&bound_found, &key, &check.differs, BPF_ANY);
	return !check.differs;
}

#endif
