/* SPDX-License-Identifier: GPL-2.0 */
/* batch.h: the state of a traced task, in its storage, and the batch of records in it, which goes
 * to the ring `events` whole. */
#ifndef BPF_BATCH_H
#define BPF_BATCH_H

#include "bpf/settings.h"
#include <bpf/bpf_core_read.h>

/* Records that one hit may need at most; the batch is sent while there is still room for them. */
#define HIT_RECORDS 16
/* And where values are read: what is read through arguments comes behind these. */
#define HIT_RECORDS_READ (HIT_RECORDS + 1 + ARG_READS * ARG_TEXT_WORDS)

struct task_state {
	__u64 last_ns;
	__u64 last_cfa; /* of the last hit: somewhere near are the frames of the module */
	__u64 out_cfa;	/* of the last hit before foreign code called back; 0: it has not */
	__u64 in_cfa;	/* the highest of those that it has called back since */
	__u64 base[BATCH_MODULES]; /* run-time address of text_addr, 0: to be said */
	__u64 unplanned;	   /* a bit a module: its plan does not hold here */
	__u32 n;
	__u32 attached; /* RECORD_ATTACH is due */
	__u32 stopped;	/* PROCESS_STOP was sent */
	__u32 cfa_high;
	__u32 snapshots;   /* sent, ever */
	__u32 last_module; /* of the last hit */
	__u32 generation;  /* of the probes that the batch is by */
	__u32 area;	   /* of the patched instructions of its program; 0: none that is known */
	__u64 lane_pos;	   /* of its lane, as it was told last */
	__u64 lane_lost;
	__u32 lane;
	__u32 forgotten;  /* task_forget() */
	__u32 own_signal; /* the last signal, if that is one that a C library keeps for itself */
	__u32 n_outs;	  /* calls in outs[] ever; it goes round */
	__u64 args[8];	  /* six, as args_keep() found them */
	struct out_pointers outs[OUT_CALLS];
	struct wait_note wait;	 /* from_ns 0: it runs; waits.h's alone */
	struct fault_note fault; /* in the program that it runs now */
	struct batch head;
	struct batch_record records[BATCH_RECORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

/* @value, of which the verifier knows nothing any more: it then follows all ways that lead here as
 * one. */
static __always_inline __u32 task_forget(struct task_state *st, __u32 value)
{
	*(volatile __u32 *)&st->forgotten = value;
	return *(volatile __u32 *)&st->forgotten;
}

/* By a helper: at each pointer that is loaded through another one the verifier looks through all of
 * the kernel's types by name, three times (btf_nested_type_is_trusted(), Linux 6.4), which took a
 * third of the time of loading. */
static __always_inline struct mm_struct *memory_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm);
}

/* Sends the batch. Whoever takes n away owns it: an exiting task and stop() may meet here. Global,
 * so that it is verified once and not for every way that leads here. */
__noinline int batch_send(struct task_state *st)
{
	__u32 n = st ? __sync_lock_test_and_set(&st->n, 0) : 0;

	if (!n)
		return 0;
	if (n > BATCH_RECORDS)
		n = BATCH_RECORDS;
	st->head.n = n;
	st->head.generation = st->generation;
	if (bpf_ringbuf_output(&events, &st->head,
			       sizeof(st->head) + n * sizeof(struct batch_record),
			       BPF_RB_NO_WAKEUP)) {
		st->head.lost += st->head.witnesses;
		__builtin_memset(st->base, 0, sizeof(st->base));
	}
	st->head.witnesses = 0;
	st->head.time_ns = st->last_ns;
	st->head.cfa_high = st->cfa_high;
	st->head.snapshots = st->snapshots;
	return 0;
}

/* Appends to the batch, of which the caller keeps the length in @n. */
static __always_inline void batch_append(struct task_state *st, __u32 *n, __u32 head, __u64 value)
{
	struct batch_record *r = &st->records[*n & (BATCH_RECORDS - 1)];

	r->head = head;
	r->dt_ns = 0;
	r->value = value;
	++*n;
}

/* Makes room for the @records that one hit may need. Returns the length of the batch. */
static __always_inline __u32 batch_room(struct task_state *st, __u32 records)
{
	__u32 n = st->n;

	if (n <= BATCH_RECORDS - records)
		return n;
	batch_send(st);
	return 0;
}

/* Other probes are in use than those that the batch is by: what the task does from its last hit on
 * is known no more. */
static __noinline __attribute__((unused)) void batch_pause(struct task_state *st)
{
	__u32 n = batch_room(st, HIT_RECORDS);

	batch_append(st, &n, (__u32)RECORD_PAUSE << HEAD_RECORD_SHIFT, 0);
	st->n = n;
	batch_send(st);
	st->generation = generation;
	st->attached = 1;
	__builtin_memset(st->base, 0, sizeof(st->base));
}

#endif
