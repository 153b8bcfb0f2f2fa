/* SPDX-License-Identifier: GPL-2.0 */
/* snapshot.h: sends the stack of the current task in two ways: as a snapshot with only what has
 * changed since the one before, and, further up, only addresses in a module. */
#ifndef BPF_SNAPSHOT_H
#define BPF_SNAPSHOT_H

#include "bpf/batch.h"
#include "bpf/capture.h"
#include <bpf/bpf_tracing.h>

#define PAD_BYTES (8 * SNAPSHOT_WORDS)

/* How far above the last hit's frame the frame that called out may lie; and how far above a return
 * address of ours, which an earlier call may have left. */
#define DEEP_MARGIN 1024
#define ANCHOR_MARGIN 4096

/* Callbacks on a stack without a frame of ours come at places that differ by less. */
#define BARE_BYTES 4096

/* Addresses that are looked for. */
struct address_window {
	__u64 base, bytes;
};

/* A search for them. In the task's storage and not on the program's stack: of what changes there
 * from step to step the verifier would follow each step, and not one for all. */
struct deep_scan {
	__u64 from, end;
	struct address_window module, program, libraries, stack;
	__u64 start;
	__u32 place, n;
	__u32 seen; /* of n */
	__u32 reserved;
};

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
	struct deep_scan scan;
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

/* How many lines of 8 words of the snapshot that is being made, from the first, are not as in the
 * one before at the same address. Compares all of them without a branch: the verifier has one path
 * to follow instead of one a word. Global, so that it is verified once. */
__noinline int lines_changed(void)
{
	struct stack_state *stacks =
		bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0, 0);

	if (!stacks)
		return 0;
	struct snapshot *now = stacks->current & 1 ? &stacks->even : &stacks->odd;
	struct snapshot *old = stacks->current & 1 ? &stacks->odd : &stacks->even;
	__u64 apart = now->addr - old->addr, changed = 0;
	__s64 known = 8 * (__s64)old->n_words - (__s64)apart; /* bytes from now->addr on */
	__u32 n = now->n_words / 8 & 127;

	if (!old->n_words || known <= 0 || apart + PAD_BYTES > 2 * PAD_BYTES || apart & 7)
		return n;
	const __u64 *was = (void *)old->words - PAD_BYTES + ((apart + PAD_BYTES) & 0x3ff8);
	int line;
	bpf_for(line, 0, SNAPSHOT_WORDS / 8)
	{
		__u64 differ = 0;

		for (__u32 i = 0; i < 8; i++)
			differ |= now->words[8 * line + i] ^ was[8 * line + i];
		__u64 negated = -differ;
		barrier_var(negated); /* or clang makes a branch of it */
		changed |= (differ | negated) >> 63 << line;
	}
	if ((__s64)apart < 0) /* what was not there then */
		changed |= (1ull << ((-apart + 63) / 64 & 63)) - 1;
	if (known <
	    64 * (__s64)n) /* nor is what lies above it known: what is in its room is older */
		changed |= ~0ull << (known >> 6 & 63);
	if (n < 64)
		changed &= (1ull << n) - 1;
	return lines_below(changed);
}

static const char untouched[8 * SNAPSHOT_WORDS];

/* Sends the stack from @sp upwards: SNAPSHOT_WORDS, or as much as there is. If the snapshot before
 * ended not far below that, this one ends there as well, so that the rest is known to be
 * unchanged. */
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
	struct mm_struct *mm = memory_of(bpf_get_current_task_btf());
	now->kind = RING_SNAPSHOT;
	now->task = st->head.task;
	now->addr = sp;
	now->heap = BPF_CORE_READ(mm, start_brk);
	now->heap_end = BPF_CORE_READ(mm, brk);
	now->args = BPF_CORE_READ(mm, start_stack);
	now->args_end = BPF_CORE_READ(mm, env_end);
	now->n_words = bytes / 8;
	now->serial = st->snapshots;
	__u32 n = 8 * (__u32)lines_changed();
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

/* Where libraries are mapped: below mmap_base, next to each other. */
#define LIBRARIES_BYTES (1ull << 30)

/* So many words are looked at in one step: the verifier follows each of them. Steps are aligned, so
 * that none crosses a page. */
#define SCAN_WORDS 128
#define SCAN_BYTES (8ull * SCAN_WORDS)

/* 1 if @value lies in @window, else 0. */
static __always_inline __u64 lies_in(struct address_window window, __u64 value)
{
	__u64 off = value - window.base, inside = off - window.bytes;

	barrier_var(inside); /* or clang makes a branch of it */
	return inside >> 63 & ~off >> 63;
}

/* Looks at SCAN_WORDS words in `scratch`, of which the first is at @place. Without a branch for
 * each word, so that the verifier follows one path; global, so that it does so once. */
__noinline int words_look(__u32 place)
{
	struct stack_state *stacks =
		bpf_task_storage_get(&stacks_of_tasks, bpf_get_current_task_btf(), 0, 0);

	if (!stacks)
		return 0;
	struct address_window module = stacks->scan.module, program = stacks->scan.program,
			      libraries = stacks->scan.libraries, stack = stacks->scan.stack;
	volatile __u32 *found = &stacks->scan.n;
	int line;
	bpf_for(line, 0, SCAN_WORDS / 8)
	{
		__u32 n = *found; /* each time anew: or the verifier counts with */

		for (__u32 i = 0; i < 8; i++) {
			__u32 at = (8 * line + i) & (SCAN_WORDS - 1);
			__u64 value = stacks->scratch[at];

			stacks->deep.words[n & (DEEP_MAX - 1)] =
				(__u64)(place + at) << 48 | DEEP_VALUE(value);
			n += lies_in(module, value) | lies_in(program, value) |
			     lies_in(libraries, value) | lies_in(stack, value);
		}
		*found = n;
	}
	return 0;
}

/* One step of deep_send(). */
static long deep_scan_step(__u32 step, struct stack_state **of)
{
	struct stack_state *stacks = *of;
	struct deep_scan *scan = &stacks->scan;
	__u32 place = scan->place;

	if (scan->from >= scan->end)
		return 1;
	scan->place = place + SCAN_WORDS;
	scan->from += SCAN_BYTES;
	/* A page of a large array that was never touched is not there, and holds nothing. */
	if (!bpf_probe_read_user(stacks->scratch, SCAN_BYTES, (void *)(scan->from - SCAN_BYTES)))
		words_look(place);
	return 0;
}

static long anchor_word(__u32 i, struct stack_state **of)
{
	struct stack_state *stacks = *of;
	__u64 word = stacks->deep.words[(stacks->scan.seen + i) & (DEEP_MAX - 1)];

	__s64 place = DEEP_PLACE(word); /* what lies below sp is left over from earlier calls */

	if (place < 0 || !is_return_of_ours(DEEP_VALUE(word)))
		return 0;
	stacks->anchor = stacks->scan.start + 8 * place;
	return 1;
}

static long anchor_step(__u32 step, struct stack_state **of)
{
	struct deep_scan *scan = &(*of)->scan;

	if (deep_scan_step(step, of))
		return 1;
	bpf_loop((scan->n - scan->seen) & (SNAPSHOT_WORDS - 1), anchor_word, of, 0);
	scan->seen = scan->n;
	return (*of)->anchor != 0;
}

/* Finds the first return address of ours at or above @sp: the frame that called out lies there, or
 * above. 0: there is none. Mostly it is where it was the last time. If none was found then, only a
 * hit further up can have brought one since. Global, as deep_send(). */
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
	stacks->scan = (struct deep_scan){
		.from = sp & ~(SCAN_BYTES - 1),
		.end = sp + 8 * DEEP_WORDS,
		.module = {base, bytes},
		.place = -((sp & (SCAN_BYTES - 1)) >> 3),
		.start = sp,
	};
	bpf_loop(DEEP_WORDS / SCAN_WORDS + 1, anchor_step, &stacks, 0);
	stacks->bare = stacks->anchor ? 0 : sp > BARE_BYTES ? sp - BARE_BYTES : 1;
	return 0;
}

/* Scans from behind snapshot @last on. Returns how many words were found. */
static __always_inline __u32 deep_look(struct stack_state *stacks, const struct snapshot *last)
{
	struct deep_scan *scan = &stacks->scan;

	scan->from = (last->addr + 8 * (__u64)last->n_words) & ~(SCAN_BYTES - 1);
	scan->place = (scan->from - last->addr) >> 3;
	scan->n = 0;
	bpf_loop(DEEP_WORDS / SCAN_WORDS + 1, deep_scan_step, &stacks, 0);
	return scan->n;
}

/* Sends what lies above a snapshot: searches the stack up to @end, or to a return address of ours,
 * for addresses in the module, whose text is @bytes long from @base on, and for addresses by which
 * frames of other code can be followed. Global, so that it is verified once and not for every way
 * that leads here. */
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
	struct deep_scan *scan = &stacks->scan;
	*scan = (struct deep_scan){
		.end = end,
		.module = {base, bytes},
		.stack = {last->addr, end - last->addr},
	};
	struct mm_struct *mm = memory_of(bpf_get_current_task_btf());

	if (mm) {
		__u64 code = BPF_CORE_READ(mm, start_code);

		scan->program = (struct address_window){code, BPF_CORE_READ(mm, end_code) - code};
		scan->libraries = (struct address_window){
			BPF_CORE_READ(mm, mmap_base) - LIBRARIES_BYTES, LIBRARIES_BYTES};
	}
	if (end <= last->addr + 8 * (__u64)last->n_words || !last->n_words)
		return 0;
	__u32 n = deep_look(stacks, last);
	if (n >= DEEP_MAX) { /* much else; the nearest are gone */
		scan->program.bytes = scan->libraries.bytes = scan->stack.bytes = 0;
		n = deep_look(stacks, last);
	}
	if (n >= DEEP_MAX) /* no stack of return addresses */
		return 0;
	deep->kind = RING_DEEP;
	deep->task = st->head.task;
	deep->serial = last->serial;
	deep->n_words = (end - last->addr) / 8;
	deep->n = n;
	return !bpf_ringbuf_output(&events, deep, sizeof(*deep) - sizeof(deep->words) + 8 * n,
				   BPF_RB_NO_WAKEUP);
}

#endif
