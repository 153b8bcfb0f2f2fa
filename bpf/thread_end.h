/* SPDX-License-Identifier: GPL-2.0 */
/* thread_end.h: what the kernel writes when a thread has called exit(): 0 where it was asked to
 * (set_tid_address(), clone()), and in robust futexes that the thread still holds that their owner
 * has died (kernel/futex/core.c: exit_robust_list()).
 *
 *   exit() begins ── words_send() ──> sched_process_exit ── a KERNEL record ──> END
 *
 * The words are read as the call begins: before Linux 6.16 the memory is gone at
 * sched_process_exit, and what is to be written has been. Then the record's moment is right behind
 * the beginning of the call, as those who wait for the thread may have gone on already. */
#ifndef BPF_THREAD_END_H
#define BPF_THREAD_END_H

#include <bpf/bpf_core_read.h>

#include "bpf/capture_send.h"

#define SYS_EXIT 60
#define EFAULT 14
#define ROBUST_LIST_LIMIT 2048
#define FUTEX_WAITERS 0x80000000
#define FUTEX_OWNER_DIED 0x40000000
#define FUTEX_TID_MASK 0x3fffffff

/* Of the order: the beginning of the call, and a moment each for its end and the thread's. */
enum { EXIT_NUMBERS = 3 };

/* The kernel writes @word at @addr. */
static __always_inline void word_send(struct capture_state *cs, __u64 addr, __u32 word)
{
	struct capture_bytes *c = bytes_room(cs, addr, sizeof(word));

	__builtin_memcpy(c->data, &word, sizeof(word));
	record_keep(cs, __builtin_offsetof(struct capture_bytes, data) + sizeof(word));
}

/* The number of the thread in its own pid namespace. */
static __always_inline __u32 own_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid upid = {};

	bpf_probe_read_kernel(&upid, sizeof(upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid));
	return upid.nr;
}

struct robust_walk {
	struct capture_state *cs;
	__u64 head, entry, pending;
	__s64 futex_off;
	__u32 tid;
	__u32 ends;   /* where the kernel ends as well: what is pending is not written then */
	__u32 untold; /* the kernel may read on where this cannot */
};

/* Of what is no address of a word the kernel writes nothing, and goes no further. */
static __always_inline void robust_send(struct robust_walk *w, __u64 entry)
{
	__u64 addr = entry + w->futex_off;
	__u32 word = 0;

	w->ends = addr % sizeof(word) != 0;
	if (w->ends)
		return;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)addr))
		w->ends = w->untold = true;
	else if ((word & FUTEX_TID_MASK) == w->tid)
		word_send(w->cs, addr, (word & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
}

static long robust_step(__u32 i, struct robust_walk *w)
{
	__u64 next;

	if (w->entry == w->head)
		return 1;
	bool more = !bpf_probe_read_user(&next, sizeof(next), (void *)w->entry);
	if (w->entry != w->pending)
		robust_send(w, w->entry);
	if (!more)
		w->ends = w->untold = true;
	w->entry = next & ~1ull;
	return w->ends != 0;
}

/* struct robust_list_head: next, the futex' offset from each entry, the one that is being locked or
 * unlocked. The lowest bit of the pointers is no part of the address. Returns whether the kernel
 * may write more than that: a page that the process has not touched yet cannot be read here. */
static __always_inline bool robust_list_send(struct capture_state *cs, struct task_struct *task)
{
	__u64 list[3], head = (__u64)BPF_CORE_READ(task, robust_list);

	if (!head)
		return false;
	if (bpf_probe_read_user(list, sizeof(list), (void *)head))
		return true;
	struct robust_walk w = {.cs = cs,
				.head = head,
				.entry = list[0] & ~1ull,
				.pending = list[2] & ~1ull,
				.futex_off = list[1],
				.tid = own_tid(task)};
	bpf_loop(ROBUST_LIST_LIMIT, robust_step, &w, 0);
	if (w.pending && !w.ends)
		robust_send(&w, w.pending);
	return w.untold != 0;
}

/* The current task begins exit(). Global, so that it is verified once. */
__noinline int words_send(struct capture_state *cs)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!cs)
		return 0;
	cs->end_untold = robust_list_send(cs, task);
	__u64 clears = (__u64)BPF_CORE_READ(task, clear_child_tid);
	if (clears)
		word_send(cs, clears, 0);
	return 0;
}

/* It has got so far that the kernel writes them next, or, where its memory is gone, has written
 * them. Where no hook has seen the call begin, its last moment counts as that. */
static __always_inline void exit_send(struct capture_state *cs, const struct pt_regs *r)
{
	bool before = BPF_CORE_READ(bpf_get_current_task_btf(), mm) != NULL;
	__u64 entered = cs->entered;

	if (r->orig_ax != SYS_EXIT || !(entered || before))
		return;
	if (!entered) {
		words_send(cs);
		entered = order_take(1);
	}
	struct capture_note *n = record_room(cs);
	note_call(n, r, SYS_EXIT, cs->end_untold ? -EFAULT : 0, entered);
	note_keep_at(cs, n, before ? order_take(1) : entered + 1, RING_CAPTURE_KERNEL, ~0u, r->ip,
		     r->sp, CHANNEL_WORDS);
	cs->entered = before ? 0 : entered + 2;
}

#endif
