/* SPDX-License-Identifier: GPL-2.0 */
/* lane.h: how far a task's patched instructions have come. What they have written to its lane
 * (offline/patch/layout.h) comes before whatever the programs here send next. */
#ifndef BPF_LANE_H
#define BPF_LANE_H

#include "bpf/batch.h"
#include "offline/patch/layout.h"

/* The ring of the thread whose thread pointer is @fs, in the current task's memory. */
static __always_inline bool ring_read(__u64 fs, struct patch_ring *ring)
{
	__u64 at = 0;

	if (!fs || bpf_probe_read_user(&at, sizeof(at), (void *)(fs + PATCH_SLOT)) || !at)
		return false;
	return !bpf_probe_read_user(ring, sizeof(*ring), (void *)at) && ring->lane;
}

static __always_inline __u64 ring_position(const struct patch_ring *ring)
{
	__u64 off = ring->next - ring->chunk;
	__u32 serial = ring->serial;

	if (!ring->chunk)
		return PATCH_POSITION(serial, PATCH_CHUNK);
	bpf_probe_read_user(&serial, sizeof(serial),
			    (void *)ring->chunk + offsetof(struct patch_chunk, serial));
	if (off >= PATCH_FILLED)
		off = PATCH_CHUNK;
	return PATCH_POSITION(serial, off);
}

static __always_inline void lane_append(struct task_state *st, __u32 *n, __u32 kind, __u32 lane,
					__u64 value)
{
	struct batch_record *r = &st->records[*n & (BATCH_RECORDS - 1)];

	r->head = kind << HEAD_RECORD_SHIFT | (lane & HEAD_SITE_MASK);
	r->dt_ns = st->area;
	r->value = value;
	++*n;
}

/* Notes the frame of the last record: the search for frames begins there. */
static __always_inline void note_last_frame(struct task_state *st, __u64 last)
{
	struct {
		__u32 head, low, high;
	} record;

	if (!last || bpf_probe_read_user(&record, sizeof(record), (void *)last))
		return;
	if (record.low || record.high)
		st->last_cfa = (__u64)record.high << 32 | record.low;
}

/* Appends how far the lane has come, if that is news, to the batch of @n records. Returns how many
 * it has then. Global, so that it is verified once. */
__noinline int lane_note(struct task_state *st, __u32 n)
{
	struct patch_ring ring;

	if (!st || !st->area ||
	    !ring_read(BPF_CORE_READ(bpf_get_current_task_btf(), thread.fsbase), &ring))
		return n;
	__u64 pos = ring_position(&ring);
	if (ring.lane == st->lane && pos == st->lane_pos && ring.lost == st->lane_lost)
		return n;
	if (with_times)
		lane_append(st, &n, RECORD_LANE_TIME, ring.lane, bpf_ktime_get_ns());
	lane_append(st, &n, RECORD_LANE, ring.lane, pos);
	if (ring.lost != st->lane_lost)
		lane_append(st, &n, RECORD_LANE_LOST, ring.lane, ring.lost);
	st->lane = ring.lane;
	st->lane_pos = pos;
	st->lane_lost = ring.lost;
	note_last_frame(st, ring.last);
	return n;
}

/* The same, where nothing else is appended. */
__noinline int lane_note_last(struct task_state *st)
{
	if (!st || !st->area || !enabled) /* then it is told where it was stopped */
		return 0;
	__u32 n = batch_room(st, HIT_RECORDS);

	st->n = lane_note(st, n);
	return 0;
}

/* @born begins with the trampolines of its parent. A new thread whose stack another one had finds
 * the ring of that; what vfork starts has its parent's. Either way its own records begin where
 * that is now. */
static __always_inline void lane_inherit(struct task_state *st, struct task_state *born,
					 struct task_struct *parent, struct task_struct *child)
{
	struct patch_ring ring;

	born->area = st->area;
	if (memory_of(child) != memory_of(parent) ||
	    !ring_read(BPF_CORE_READ(child, thread.fsbase), &ring))
		return;
	__u32 n = born->n;
	if (n)
		return;
	born->lane = ring.lane;
	born->lane_pos = ring_position(&ring);
	born->lane_lost = ring.lost;
	lane_append(born, &n, RECORD_LANE_FROM, ring.lane, born->lane_pos);
	lane_append(born, &n, RECORD_LANE_LOST, ring.lane, ring.lost);
	born->n = n;
}

/* The current task, which vfork has started, is about to give the ring back to its parent, which
 * waits for that; its own records will begin from there. */
__noinline int lane_give_back(struct task_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *parent = task->real_parent;
	struct patch_ring ring;

	if (!st || !st->area || !BPF_CORE_READ(task, vfork_done) || !parent)
		return 0;
	struct task_state *its = bpf_task_storage_get(&tasks, parent, 0, 0);
	if (!its || !its->area || memory_of(parent) != memory_of(task) ||
	    BPF_CORE_READ(parent, thread.fsbase) != BPF_CORE_READ(task, thread.fsbase) ||
	    !ring_read(BPF_CORE_READ(task, thread.fsbase), &ring))
		return 0;
	__u32 n = its->n;
	if (n > BATCH_RECORDS - HIT_RECORDS)
		return 0;
	its->lane = ring.lane;
	its->lane_pos = ring_position(&ring);
	its->lane_lost = ring.lost;
	lane_append(its, &n, RECORD_LANE_FROM, ring.lane, its->lane_pos);
	lane_append(its, &n, RECORD_LANE_LOST, ring.lane, ring.lost);
	its->n = n;
	return 0;
}

#endif
