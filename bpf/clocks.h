/* SPDX-License-Identifier: GPL-2.0 */
/* clocks.h: what the kernel's image of clock functions has told the current thread, as the process
 * itself has noted it (offline/capture/clock_area.h): read before each of its records, so that it
 * comes where it was. */
#ifndef BPF_CLOCKS_H
#define BPF_CLOCKS_H

#include <bpf/bpf_core_read.h>
#include "offline/capture/clock_area.h"

#include "bpf/capture_send.h"

/* Where the area is in the process that was attached to, and in its children; 0: there is none. */
volatile __u64 clock_area = 0;

struct clock_head {
	__u64 owner, n;
};

/* The slot of the current thread; 0: it has none. */
static __always_inline __u64 clock_slot(__u64 owner, struct clock_head *head)
{
	__u64 slot = clock_area + clock_slot_of(owner);

	if (bpf_probe_read_user(head, sizeof(*head), (void *)slot) || head->owner != owner)
		return 0;
	return slot;
}

/* What the slot has is not of the current task, which has just begun, or had lent its memory and
 * its thread pointer to a child. */
static __always_inline void clocks_skip(struct capture_state *cs)
{
	__u64 owner = bpf_get_current_task_btf()->thread.fsbase;
	struct clock_head head;

	if (!clock_area || !clock_slot(owner, &head))
		return;
	cs->clock_owner = owner;
	cs->clocks = head.n;
}

/* Sends @n entries from number @first on, which stand in the ring in one piece; @lost: they, or
 * more, are not known. Global, so that it is verified once. */
__noinline int clocks_piece(struct capture_state *cs, __u64 slot, __u64 first, __u32 n, __u32 lost)
{
	__u64 at = slot + sizeof(struct clock_slot) +
		   first % CLOCK_ENTRIES * sizeof(struct clock_entry);

	if (!cs || n > CLOCK_READ)
		return 0;
	struct capture_clocks *c = record_room(cs);
	__u32 bytes = n * sizeof(*c->entries);
	if (!lost && bpf_probe_read_user(c->entries, bytes, (void *)at))
		lost = 1;
	c->kind = RING_CAPTURE_CLOCKS;
	c->task = cs->batch.task;
	c->n = n;
	c->lost = lost;
	c->number = cs->number++;
	c->first = first;
	c->time_ns = cs->time_ns;
	c->order = order_take(n + 1);
	record_keep(cs, __builtin_offsetof(struct capture_clocks, entries) + bytes);
	return 0;
}

struct clock_walk {
	struct capture_state *cs;
	__u64 slot, first;
	__u32 left;
};

/* Up to where a number of them ends, as does the ring. */
static long clock_step(__u32 step, struct clock_walk *w)
{
	__u32 n = CLOCK_READ - w->first % CLOCK_READ;

	if (!w->left)
		return 1;
	if (n > w->left)
		n = w->left;
	clocks_piece(w->cs, w->slot, w->first, n, 0);
	w->first += n;
	w->left -= n;
	return 0;
}

/* Global, so that it is verified once. */
__noinline int clocks_take(struct capture_state *cs, __u64 owner)
{
	struct clock_head head;
	__u64 slot = cs ? clock_slot(owner, &head) : 0;

	if (!slot)
		return 0;
	/* The slot of another thread pointer: since when is not known. */
	bool moved = cs->clock_owner && cs->clock_owner != owner;
	__u64 first = cs->clock_owner == owner ? cs->clocks : 0, n = head.n - first;

	cs->clock_owner = owner;
	cs->clock_slot = slot;
	cs->clocks = head.n;
	if (moved || n > CLOCK_ENTRIES)
		return clocks_piece(cs, slot, first, 0, 1);
	struct clock_walk w = {.cs = cs, .slot = slot, .first = first, .left = n};
	if (n)
		clock_step(0, &w);
	if (w.left)
		bpf_loop(CLOCK_ENTRIES / CLOCK_READ + 1, clock_step, &w, 0);
	return 0;
}

static __always_inline void clocks_send(struct capture_state *cs)
{
	__u64 owner = bpf_get_current_task_btf()->thread.fsbase;
	struct clock_head head;

	if (!clock_area)
		return;
	/* Nearly always there is nothing new in the slot that it has had before. */
	if (owner != cs->clock_owner || !cs->clock_slot ||
	    bpf_probe_read_user(&head, sizeof(head), (void *)cs->clock_slot) ||
	    head.owner != owner || head.n != cs->clocks)
		clocks_take(cs, owner);
}

#endif
