/* SPDX-License-Identifier: GPL-2.0 */
/* goroutine.h: which goroutine a task runs. Go's own code has runtime.g in r14; behind a call of
 * its assembly that may not be so yet, and then the thread's local storage has it, in the first
 * word below where fs points to. What is taken for one has to be one: the stack pointer lies in its
 * stack, and it is running. */
#ifndef BPF_GOROUTINE_H
#define BPF_GOROUTINE_H

#include "bpf/settings.h"

#define G_RUNNING 2	    /* _Grunning */
#define G_STATUS_MASK 0xfff /* without _Gscan */

struct g_stack {
	__u64 low, high;
};

struct g_number {
	__u32 status, lock; /* atomicstatus, stackLock: right before it */
	__u64 goid;
};

/* Where the stack at @sp ends, if it is that of the goroutine at @g; else 0. */
static __always_inline __u64 goroutine_holds(__u64 g, __u64 sp)
{
	struct g_stack stack;

	if (!g || bpf_probe_read_user(&stack, sizeof(stack), (void *)g) || sp <= stack.low ||
	    sp > stack.high)
		return 0;
	return stack.high;
}

static __always_inline bool goroutine_is(__u64 g, __u64 sp, __u32 goid_at, __u64 *goid)
{
	struct g_number number;

	if (!goroutine_holds(g, sp))
		return false;
	if (bpf_probe_read_user(&number, sizeof(number),
				(void *)(g + goid_at - offsetof(struct g_number, goid))) ||
	    (number.status & G_STATUS_MASK) != G_RUNNING)
		return false;
	*goid = number.goid;
	return true;
}

/* Where the stack of the goroutine that runs ends, which has @r14; 0: it is not known. */
__noinline __u64 goroutine_stack_end(__u64 r14, __u64 sp)
{
	__u64 end = goroutine_holds(r14, sp), g = 0, fs = bpf_get_current_task_btf()->thread.fsbase;

	if (end || !fs || bpf_probe_read_user(&g, sizeof(g), (void *)(fs - 8)) || g == r14)
		return end;
	return goroutine_holds(g, sp);
}

/* The number of the goroutine that runs, which has @r14; 0: it is not known. */
__noinline __u64 goroutine_number(__u64 r14, __u64 sp, __u32 goid_at)
{
	__u64 goid = 0, g = 0, fs = bpf_get_current_task_btf()->thread.fsbase;

	if (goroutine_is(r14, sp, goid_at, &goid))
		return goid;
	if (!fs || bpf_probe_read_user(&g, sizeof(g), (void *)(fs - 8)) || g == r14)
		return 0;
	return goroutine_is(g, sp, goid_at, &goid) ? goid : 0;
}

#endif
