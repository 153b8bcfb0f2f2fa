/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* walk.h: one thread's trace, cut into requests, each with all that runs inside of it.
 *
 * Activations (activation.c): a call of a function that the user named. An activation within an
 * activation belongs to the outer one. A request goes on in what its function jumps to, and it
 * waits while its thread is on another stack.
 *
 * From one function to another (between.c): from the begin of a call of the first to the end of the
 * next call of the other, of the same identity where one was asked for. What the thread does counts
 * into the request whose begin or end it met last. */
#ifndef USER_REQUEST_WALK_H
#define USER_REQUEST_WALK_H

#include "user/request/spec.h"
#include "user/view/trace/func_ids.h"
#include "user/view/report/report.h"

/* Handed out when a request is over. */
struct request_end {
	uint64_t from_ns, to_ns; /* it began between these, CLOCK_MONOTONIC */
	struct time_bounds took;
	uint64_t identity;
	bool identified; /* the identity was asked for, and read */
	bool whole;	 /* it ended, and no gap was in it */
};

/* Each request has a number within its thread, from 0 on, by begin; the same in every walk. */
struct request_sink {
	/* The innermost call begins: @around is the note of the call around it in the request, or
	 * NULL for one that is not in a call of the request. Fills *@note, which is the sink's. */
	void (*enter)(void *ctx, uint64_t number, const uint32_t *around, uint32_t id,
		      const struct call *call, uint32_t *note);
	void (*leave)(void *ctx, uint64_t number, uint32_t note, const struct call *call,
		      uint64_t from_ns, uint64_t to_ns);
	/* A block of the innermost call ran (level paths). */
	void (*block)(void *ctx, uint64_t number, uint32_t note);
	/* The thread goes on on another stack: time passes that no call of the request takes. */
	void (*other_stack)(void *ctx);
	void (*end)(void *ctx, uint64_t number, const struct request_end *end);
};

enum request_role { REQUEST_BEGINS = 1, REQUEST_ENDS = 2 };

/* Which functions' calls begin and end requests: by number of @ids. */
struct request_of {
	struct func_ids ids;
	struct request_spec spec;
	uint8_t *roles; /* heap: enum request_role */
};

/* Walks thread @task. Every function of @sink but ->end may be NULL. Returns 0 or -errno. */
int request_walk(const struct trace_view *view, const struct request_of *of, uint32_t task,
		 const struct request_sink *sink, void *ctx);

#endif
