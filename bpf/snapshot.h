/* SPDX-License-Identifier: GPL-2.0 */
/* snapshot.h: the stack of the current task, in two ways: a snapshot with only what has changed
 * since the one before, and the addresses of a module further up. */
#ifndef BPF_SNAPSHOT_H
#define BPF_SNAPSHOT_H

#include "bpf/batch.h"
#include "bpf/capture.h"
#include <bpf/bpf_tracing.h>

#define PAD_BYTES (8 * SNAPSHOT_WORDS)

/* How far above the last hit's frame the frame may lie that is in the foreign call; and how far
 * above a return address of ours, which an earlier call may have left. */
#define DEEP_MARGIN 1024
#define ANCHOR_MARGIN 4096

/* Callbacks on a stack without a frame of ours come at places that differ by less. */
#define BARE_BYTES 4096

/* The last two snapshots of a task; few tasks need any. They are compared at the same address, not
 * at the same place: so there is room on either side of each. */
struct stack_state {
	__u32 current; /* odd or even: the last one */
	__u32 reserved;
	__u64 anchor; /* where a return address of ours was found last, 0: nowhere */
	__u64 bare;   /* from here on none was found */
	__u8 pad1[PAD_BYTES];
	struct snapshot even;
	__u8 pad2[PAD_BYTES];
	struct snapshot odd;
	__u8 pad3[PAD_BYTES];
	struct deep_stack deep;
	struct attach_stack attach;
	__u64 scratch[SNAPSHOT_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_state);
} stacks_of_tasks SEC(".maps");

static __always_inline __u32 lines_below(__u64 bits)
{
	__u32 n = 0;

	if (!bits)
		return 0;
	for (__u32 step = 32; step; step /= 2)
		if (bits >> (n + step))
			n += step;
	return n + 1;
}

/* How many lines of 8 words, from the first, are not as in @old at the same address. Compares all
 * of them without a branch: the verifier has one path to follow instead of one a word. */
static __always_inline __u32 lines_changed(struct snapshot *now, struct snapshot *old)
{
	__u64 apart = now->addr - old->addr, changed = 0;
	__s64 known = 8 * (__s64)old->n_words - (__s64)apart; /* bytes from now->addr on */
	__u32 n = now->n_words / 8 & 127;

	if (!old->n_words || known <= 0 || apart + PAD_BYTES > 2 * PAD_BYTES || apart & 7)
		return n;
	const __u64 *was = (void *)old->words - PAD_BYTES + ((apart + PAD_BYTES) & 0x3ff8);
	for (__u32 line = 0; line < SNAPSHOT_WORDS / 8; line++) {
		__u64 differ = 0;

		for (__u32 i = 0; i < 8; i++)
			differ |= now->words[8 * line + i] ^ was[8 * line + i];
		__u64 negated = -differ;
		barrier_var(negated); /* or clang makes a branch of it */
		changed |= (differ | negated) >> 63 << line;
	}
	if ((__s64)apart < 0) /* what was not there then */
		changed |= (1ull << ((-apart + 63) / 64 & 63)) - 1;
	if (known < 64 * (__s64)n) /* nor was what lies above it: what is in its room is older */
		changed |= ~0ull << (known >> 6 & 63);
	if (n < 64)
		changed &= (1ull << n) - 1;
	return lines_below(changed);
}

static const char untouched[8 * SNAPSHOT_WORDS];

/* Sends the stack from @sp upwards: SNAPSHOT_WORDS, or as much as there is. Where the one before
 * ends not far below that, it ends there as well, so that the rest can be told to be the same. */
__noinline int snapshot_send(__u64 sp)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct stack_state *stacks = NULL;

	for (int i = 0; i < 64 && !stacks; i++)
		stacks = bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st || !stacks) {
		count(&counters.snapshots_lost);
		return false;
	}
	struct snapshot *old = stacks->current & 1 ? &stacks->odd : &stacks->even;
	struct snapshot *now = stacks->current & 1 ? &stacks->even : &stacks->odd;
	__u64 bytes = 8 * SNAPSHOT_WORDS, kept = old->addr + 8 * (__u64)old->n_words - sp;

	if (old->n_words && kept >= 4 * SNAPSHOT_WORDS && kept < bytes)
		bytes = kept & ~63ull;
	barrier_var(bytes); /* the verifier looks for the bound here */
	if (bytes > 8 * SNAPSHOT_WORDS)
		return false;
	if (bpf_probe_read_user(now->words, bytes, (void *)sp)) {
		/* Only as far as the page of sp goes, but a line at least. The next page is one of
		 * a large array that was never touched, and holds nothing; so may be that of sp. */
		__u64 page = 4096 - (sp & 4095);

		bytes = page < 64 ? 64 : page & ~63ull;
		barrier_var(page);
		if (page > bytes)
			page = bytes;
		bpf_probe_read_kernel(now->words, bytes, untouched);
		bpf_probe_read_user(now->words, page, (void *)sp);
	}
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	now->kind = RING_SNAPSHOT;
	now->task = st->head.task;
	now->addr = sp;
	now->heap = mm ? mm->start_brk : 0;
	now->heap_end = mm ? mm->brk : 0;
	now->args = mm ? mm->start_stack : 0;
	now->args_end = mm ? mm->env_end : 0;
	now->n_words = bytes / 8;
	now->serial = st->snapshots;
	__u32 n = 8 * lines_changed(now, old);
	if (n > SNAPSHOT_WORDS)
		n = SNAPSHOT_WORDS;
	now->n_sent = n;
	stacks->current++;
	if (bpf_ringbuf_output(&events, now, sizeof(*now) - sizeof(now->words) + 8 * n,
			       BPF_RB_NO_WAKEUP)) {
		now->n_words = 0; /* the next one is sent whole */
		count(&counters.snapshots_lost);
		return false;
	}
	st->snapshots++;
	return true;
}

struct deep_scan {
	struct stack_state *stacks;
	__u64 from, end;
	__u64 base, bytes;
	__u32 place, n;
};

/* One step of deep_send(). Without a branch for each word, so that the verifier follows one path.
 */
static long deep_scan_step(__u32 step, struct deep_scan *scan)
{
	struct stack_state *stacks = scan->stacks;
	__u64 base = scan->base, bytes = scan->bytes;
	__u32 n = scan->n, place = scan->place;

	if (scan->from >= scan->end)
		return 1;
	scan->place = place + SNAPSHOT_WORDS;
	scan->from += 8 * SNAPSHOT_WORDS;
	/* A page of a large array that was never touched is not there, and holds nothing. */
	if (bpf_probe_read_user(stacks->scratch, 8 * SNAPSHOT_WORDS,
				(void *)(scan->from - 8 * SNAPSHOT_WORDS)))
		return 0;
	for (__u32 i = 0; i < SNAPSHOT_WORDS; i++) {
		struct deep_word *word = &stacks->deep.words[n & (DEEP_MAX - 1)];
		__u64 off = stacks->scratch[i] - base, inside = off - bytes;

		word->place = place + i;
		word->off = off;
		barrier_var(inside); /* or clang makes a branch of it */
		n += inside >> 63 & ~off >> 63;
	}
	scan->n = n;
	return 0;
}

struct anchor_scan {
	struct deep_scan scan;
	__u64 start, anchor;
	__u32 seen; /* of scan.n */
	__u32 reserved;
};

static long anchor_word(__u32 i, struct anchor_scan *a)
{
	struct deep_word *word = &a->scan.stacks->deep.words[(a->seen + i) & (DEEP_MAX - 1)];

	__s64 place = (__s32)word->place; /* what lies below sp is left over from earlier calls */

	if (place < 0 || !is_return_of_ours(a->scan.base + word->off))
		return 0;
	a->anchor = a->start + 8 * place;
	return 1;
}

static long anchor_step(__u32 step, struct anchor_scan *a)
{
	if (deep_scan_step(step, &a->scan))
		return 1;
	bpf_loop((a->scan.n - a->seen) & (SNAPSHOT_WORDS - 1), anchor_word, a, 0);
	a->seen = a->scan.n;
	return a->anchor != 0;
}

/* Where the first return address of ours lies, at or above @sp: the frame that called out may be
 * there, or above it. 0: there is none. As a rule it is where it was the last time. Where none was
 * found, one can only have come since by a hit further up. Global, as deep_send(). */
__noinline int anchor_find(__u64 sp, __u64 base, __u64 bytes)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct stack_state *stacks =
		bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0, 0);
	__u64 word = 0;

	if (!st || !stacks)
		return 0;
	if (stacks->anchor - sp < 8 * DEEP_WORDS &&
	    !bpf_probe_read_user(&word, sizeof(word), (void *)stacks->anchor) &&
	    is_return_of_ours(word))
		return 0;
	stacks->anchor = 0;
	if (stacks->bare && sp - stacks->bare < 2 * BARE_BYTES &&
	    st->last_cfa < stacks->bare + 2 * BARE_BYTES)
		return 0;
	struct anchor_scan a = {
		.scan = {.stacks = stacks,
			 .from = sp & ~4095ull, /* by pages */
			 .end = sp + 8 * DEEP_WORDS,
			 .base = base,
			 .bytes = bytes,
			 .place = -((sp & 4095) >> 3)},
		.start = sp,
	};
	bpf_loop(DEEP_WORDS / SNAPSHOT_WORDS + 1, anchor_step, &a, 0);
	stacks->anchor = a.anchor;
	stacks->bare = a.anchor ? 0 : sp > BARE_BYTES ? sp - BARE_BYTES : 1;
	return 0;
}

/* The module's frames may lie further up than a snapshot goes: looks through the stack up to @end,
 * or to a return address of ours, for addresses in the module, whose text is @bytes long from @base
 * on. Global, so that it is verified once and not for every way that leads here. */
__noinline int deep_send(__u64 end, __u64 base, __u64 bytes)
{
	struct task_state *st = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct stack_state *stacks =
		bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0, 0);

	if (!st || !stacks)
		return 0;
	struct snapshot *last = stacks->current & 1 ? &stacks->odd : &stacks->even;
	if (end - last->addr >= 8 * DEEP_WORDS)
		end = last->addr; /* the last hit was on another stack, or below */
	if (end < stacks->anchor + ANCHOR_MARGIN)
		end = stacks->anchor + ANCHOR_MARGIN;
	if (end > last->addr + 8 * DEEP_WORDS)
		end = last->addr + 8 * DEEP_WORDS;
	struct deep_stack *deep = &stacks->deep;
	struct deep_scan scan = {
		.stacks = stacks,
		.from = (last->addr + 8 * (__u64)last->n_words) & ~4095ull, /* by pages */
		.end = end,
		.base = base,
		.bytes = bytes,
	};

	scan.place = (scan.from - last->addr) >> 3;
	if (end <= last->addr + 8 * (__u64)last->n_words || !last->n_words)
		return 0;
	bpf_loop(DEEP_WORDS / SNAPSHOT_WORDS + 1, deep_scan_step, &scan, 0);
	__u32 n = scan.n;
	if (n >= DEEP_MAX) /* no stack of return addresses; the nearest are gone */
		return 0;
	deep->kind = RING_DEEP;
	deep->task = st->head.task;
	deep->serial = last->serial;
	deep->n_words = (end - last->addr) / 8;
	deep->base = base;
	deep->n = n;
	return !bpf_ringbuf_output(&events, deep, sizeof(*deep) - sizeof(deep->words) + 8 * n,
				   BPF_RB_NO_WAKEUP);
}

#endif
