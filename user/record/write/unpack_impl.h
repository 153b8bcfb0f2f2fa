/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unpack_impl.h: the unpacker among its parts, each on those before it:
 *
 *   unpack_segments.c   a task's events into segments
 *   unpack_bounds.c     times that are bounds
 *   unpack_lanes.c      where instructions are patched
 *   unpack_batch.c      what probes have sent
 *   unpack_notes.c      signals and ends
 *   unpack.c            asks them, task by task */
#ifndef USER_UNPACK_IMPL_H
#define USER_UNPACK_IMPL_H

#include "user/record/write/deaths.h"
#include "user/record/write/generations.h"
#include "user/record/write/unpack.h"
#include "user/stack/task_stacks.h"

struct attach_stacks;
struct lanes_image;
struct stack_copy;
struct text_span;

/* What must be remembered of a task from one batch to the next. */
struct task {
	uint64_t bases[SEGMENT_MAX_MODULES]; /* load bias */
	uint64_t known;
	uint64_t lost;
	uint64_t n_events;
	uint64_t time_ns;
	uint32_t execs;
	struct task_stacks stacks;
	struct stack_copy *attached;  /* until the event that it is of */
	bool paused;		      /* and not attached since */
	uint32_t area, lane;	      /* what its patched instructions write to; 0: none */
	uint64_t lane_pos, lane_lost; /* up to where that was read, and was told to be lost */
	struct unpack_waits {
		struct wait_note *at; /* in the order of time: those from `next` on are to come */
		uint32_t n, cap, next;
	} waits;
	struct last_hits last;
};

struct unpacker {
	unpack_write write;
	unpack_died died; /* NULL: nobody asks */
	void *ctx;
	struct recording_totals *totals;
	int err; /* the first */
	struct generations generations;

	struct task **tasks;
	uint32_t cap_tasks;
	struct segment_encoder *enc;
	uint32_t witnesses; /* in the encoder */
	struct kept {
		struct segment_encoder *enc;
		struct task *task; /* NULL: nothing is kept */
		uint32_t number, witnesses;
	} kept;
	uint64_t *words; /* a snapshot with what lies above it */
	struct attach_stacks *attach_stacks;
	struct lanes *lanes;
	bool times; /* they are recorded */
	bool hides; /* words of stacks and registers that are no addresses are not */
	struct unpack_untimed {
		struct pugmark_witness_event *at; /* of the lane that is read, until a time is told
						     that they had happened by */
		uint32_t n, cap;
	} untimed;

	uint32_t number; /* of the task that is unpacked, until unpacker_end() */
	struct task *task;
	bool ended;
};

/* Keeps the first error. */
static inline void unpack_fail(struct unpacker *u, int err)
{
	if (err && !u->err)
		u->err = err;
}

/* ---- unpack_segments.c ---- */

/* Hands over the segment that was made, and begins the next one. */
void unpack_finish(struct unpacker *u);
/* Another event of the task. */
void unpack_event(struct unpacker *u, const struct pugmark_witness_event *event);
/* @value: of PUGMARK_EVENT_LOST how many, of PUGMARK_EVENT_FORK the child. */
void unpack_plain(struct unpacker *u, enum pugmark_event_kind kind, uint64_t value);
/* @lost events of the task were lost before what comes next; 0: none. */
void unpack_lost(struct unpacker *u, uint64_t lost);
/* What a record says of the task as a whole: losses, and programs that it went through. */
void unpack_note_task(struct unpacker *u, uint64_t lost, uint32_t execs);
/* Room for the words of a stack. */
uint64_t *unpack_stack_room(struct unpacker *u);
/* The module of @slot has been mapped somewhere. */
void unpack_base(struct unpacker *u, const struct generation *g, uint32_t slot, uint64_t addr);

/* ---- unpack_bounds.c ---- */

/* An event of the lane at hand: it waits for a time that it had happened by, if there are any; not
 * for ever: it had at @end_ns. */
void unpack_untimed(struct unpacker *u, const struct pugmark_witness_event *e, uint64_t end_ns);
/* What waits had happened by @time_ns; 0: there are no times. */
void unpack_bound(struct unpacker *u, uint64_t time_ns);
/* The thread stopped and went on. */
void unpack_wait(struct unpacker *u, const struct wait_note *note, uint32_t bytes);
/* Tells of all waits of the lane at hand up to @pos that began before @end_ns. */
void unpack_waits(struct unpacker *u, uint64_t pos, uint64_t end_ns);
/* When the next of them began, at most @end_ns. */
uint64_t unpack_next_wait(const struct task *t, uint64_t end_ns);

/* ---- unpack_lanes.c ---- */

/* Counts a probe's event in a process of which instructions are patched: why @site of its module
 * @module is not. */
void unpack_count_probed(struct unpacker *u, uint32_t module, uint32_t site);
/* A stack from which a trace begins, of a thread that is in a trampoline, is as where that was
 * entered. */
void unpack_leave_at_start(const struct unpacker *u, pid_t pid, struct stack_copy *copy);
/* A thread that is in a trampoline is, to all that look at it, where that was entered. */
void unpack_leave_trampoline(const struct unpacker *u, int32_t pid, uint64_t time_ns, uint64_t *ip,
			     uint64_t *sp, struct pugmark_witness_event *e);
/* What of the task's lane comes before what follows in the batch. @time_ns: when it had come so
 * far. */
void unpack_lane(struct unpacker *u, const struct generation *g, const struct batch_record *r,
		 uint64_t time_ns);
/* The record @r tells how many events the lane has lost; @first: for the first time. */
void unpack_lane_lost(struct unpacker *u, const struct batch_record *r, bool first);
/* The thread was stopped while its program ran on: what its lane had by then. */
void unpack_lane_end(struct unpacker *u, int32_t tid, uint64_t time_ns);

/* ---- unpack_batch.c ---- */

/* Fills @spans (room for BATCH_MODULES) with where the task has the traced modules' code. Returns
 * how many. */
uint32_t unpack_code(const struct unpacker *u, struct text_span *spans);
/* Leaves of the stack of @e, which has that serial, of process @pid, what may be of use, and no
 * secrets. */
void unpack_slim(struct unpacker *u, uint32_t serial, pid_t pid, struct pugmark_witness_event *e);
/* @bp, which was found with the stack pointer @sp; 0: that may be a secret. */
uint64_t unpack_frame(const struct unpacker *u, uint64_t sp, uint64_t bp);
/* The task is seen again from when its probes are those of @g, and no later than @next_ns. */
void unpack_end_pause(struct task *t, const struct generation *g, uint64_t next_ns);
void unpack_batch(struct unpacker *u, const struct batch *b, uint32_t bytes);

/* ---- unpack_notes.c ---- */

void unpack_signal(struct unpacker *u, const struct signal_note *sent, uint32_t bytes);
void unpack_process(struct unpacker *u, const struct process_record *r);

#endif
