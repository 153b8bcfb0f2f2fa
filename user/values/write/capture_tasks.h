/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_tasks.h: the tasks of a recording, each with its records on their way to segments. Who
 * calls this holds the lock of the writer (capture_writer.c). */
#ifndef USER_CAPTURE_TASKS_H
#define USER_CAPTURE_TASKS_H

#include "offline/base/varint.h"
#include "offline/capture/captures.h"
#include "offline/capture/channels.h"
#include "user/values/clock/clock_record.h"
#include "user/values/write/capture_ranges.h"
#include "user/values/write/segments_out.h"

#include <stdbool.h>
#include <stdint.h>

struct capture_task {
	uint32_t task;
	uint64_t ring_number; /* that the next record of the ring has */
	uint64_t records;     /* in segments before */
	uint64_t checked;     /* how many could have had a hash */
	uint64_t first_ns, last_ns;
	struct capture_encoder *encoder; /* NULL: it has no record, or none behind its END */
	struct capture_ranges ranges;	 /* that have come before their record */
	struct capture off;		 /* where it lost the processor */
	bool is_off;			 /* and has not got it back */
	bool shown;			 /* the content of the next system call may be kept */
	bool ended;			 /* its last record is its END */
	struct clock_asked asked;
	struct clock_notes *clocks; /* that the process keeps; NULL: not asked yet */
	uint64_t clock_next;	    /* of these */
	uint64_t lane_head;	    /* of the notes in its lane, when that was told last */
	uint64_t last_order;
	struct bytes channels; /* notes of them that wait, */
	uint32_t n_channels;   /* how many, and how many are in segments before */
	uint64_t channels_before;
	struct channel_note last_channel;
};

struct capture_tasks {
	struct segments_out *out;
	struct capture_task **tasks; /* by number; NULL: none of that number */
	uint32_t n;
	uint64_t records;   /* of all tasks */
	uint64_t lost_told; /* captures that the ring had no room for, by their numbers */
};

/* Errors go to @all->out (segments_out_error()). */
void capture_tasks_fail(struct capture_tasks *all, int err);
/* The task of that number, made where it is new. NULL: no memory, which is noted as an error. */
struct capture_task *capture_tasks_of(struct capture_tasks *all, uint32_t task);
void capture_tasks_add(struct capture_tasks *all, struct capture_task *t, const struct capture *c);
void capture_tasks_add_channel(struct capture_tasks *all, struct capture_task *t,
			       const struct channel_note *note);
/* A record of @n that are missing. */
void capture_tasks_add_lost(struct capture_tasks *all, struct capture_task *t, uint64_t n,
			    uint64_t order, uint64_t time_ns);
/* A record of the ring has the number @number. Where the ring had no room for some before it, that
 * is told. */
void capture_tasks_number(struct capture_tasks *all, struct capture_task *t, uint64_t number,
			  uint64_t order, uint64_t time_ns);
/* Writes what waits. */
void capture_tasks_flush(struct capture_tasks *all, struct capture_task *t);
/* The same, and of its memory nothing is left but its numbers. */
void capture_tasks_finish(struct capture_tasks *all, struct capture_task *t);
/* Frees the tasks, which are finished; not @all->out. */
void capture_tasks_deinit(struct capture_tasks *all);

#endif
