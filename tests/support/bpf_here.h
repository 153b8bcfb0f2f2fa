/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bpf_here.h: lets a header of bpf/ be a part of a test in user space, so that what the programs
 * compute can be held against something simpler on as many inputs as one likes. It stands for
 * bpf/settings.h and the kernel's headers; the test has the helpers below it that read, send and
 * look up. To be included before the header. */
#ifndef TESTS_SUPPORT_BPF_HERE_H
#define TESTS_SUPPORT_BPF_HERE_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bpf/protocol.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"

#define __BPF_HELPERS__
#define __BPF_TRACING_H__
#define __BPF_CORE_READ_H__
#define BPF_SETTINGS_H

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#define barrier_var(var) __asm__("" : "+r"(var))

struct pt_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};

struct inode;
struct file {
	struct inode *f_inode;
};
struct mm_struct {
	unsigned long start_brk, brk, start_stack, env_end, mmap_base, start_code, end_code;
	struct file *exe_file;
};
struct task_struct {
	struct task_struct *group_leader;
	__u64 start_boottime;
	__u32 tgid, self_exec_id;
	struct mm_struct *mm;
	struct {
		struct {
			struct file **fd;
		} * fdt;
	} * files;
};

/* As the kernel's: NULL on the way gives zero. */
#define BPF_HERE_READ_2(s, a) ((s) ? (s)->a : 0)
#define BPF_HERE_READ_3(s, a, b) BPF_HERE_READ_2(BPF_HERE_READ_2(s, a), b)
#define BPF_HERE_READ_4(s, a, b, c) BPF_HERE_READ_2(BPF_HERE_READ_3(s, a, b), c)
#define BPF_HERE_READ_N(_1, _2, _3, _4, name, ...) name
#define BPF_CORE_READ(...)                                                                         \
	BPF_HERE_READ_N(__VA_ARGS__, BPF_HERE_READ_4, BPF_HERE_READ_3, BPF_HERE_READ_2)(__VA_ARGS__)

/* Of bpf/settings.h. */
static __u32 half_returns, half_bound, n_modules, n_known_programs, generation;
static __u64 module_bytes[BATCH_MODULES];
static __u32 returns_first[BATCH_MODULES], known_program_fds[KNOWN_PROGRAMS];
static __u32 bound_first[2 * BATCH_MODULES], bound_count[2 * BATCH_MODULES];
static bool by_known_programs[2 * BATCH_MODULES];
static struct batch_counters counters;

static void count(__u64 *counter)
{
	++*counter;
}

/* What the test has to say. Maps are told apart by their addresses. */
static struct task_struct *here_task(void);
static void *here_storage(const void *map);
static long here_read_user(void *to, __u32 bytes, __u64 from);
static long here_output(const void *map, const void *data, __u64 bytes);
static void *here_lookup(const void *map, const void *key);
static long here_update(const void *map, const void *key, const void *value);

static long bpf_probe_read_kernel(void *to, __u32 bytes, const void *from)
{
	memcpy(to, from, bytes);
	return 0;
}

/* At most @bytes with the 0 at the end; how many there are, or less than 0. */
static inline long here_read_user_str(char *to, __u32 bytes, __u64 from)
{
	for (__u32 i = 0; i < bytes; i++) {
		if (i + 1 == bytes)
			to[i] = 0;
		else if (here_read_user(&to[i], 1, from + i))
			return -1;
		if (!to[i])
			return i + 1;
	}
	return 0;
}

#define bpf_get_current_task_btf() here_task()
#define bpf_task_storage_get(map, task, value, flags) here_storage(map)
#define bpf_probe_read_user(to, bytes, from) here_read_user(to, bytes, (__u64)(from))
#define bpf_probe_read_user_str(to, bytes, from)                                                   \
	here_read_user_str((char *)(to), bytes, (__u64)(from))
#define bpf_ringbuf_output(map, data, bytes, flags) here_output(map, data, bytes)
#define bpf_map_lookup_elem(map, key) here_lookup(map, key)
#define bpf_map_update_elem(map, key, value, flags) here_update(map, key, value)
#define bpf_ktime_get_ns() 0
#define bpf_for(i, begin, end) for ((i) = (begin); (i) < (end); (i)++)
#define bpf_loop(n, step, ctx, flags)                                                              \
	do {                                                                                       \
		for (__u32 here_i = 0; here_i < (n) && !step(here_i, ctx);)                        \
			here_i++;                                                                  \
	} while (0)

#endif
