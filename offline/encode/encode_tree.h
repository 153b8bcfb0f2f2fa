/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_tree.h: the recovered trace of a thread as a walk over its call tree: calls are opened and
 * closed, always in pairs, and a sequence never runs across a gap. Every selection is made from
 * this.
 *
 * A tail callee is the last child of the function that jumped to it, and is closed together with
 * it. A call into a module that is not traced is a node as well; functions that were called back
 * during it are its children. Where code that was made at run time, and has a name, has called them
 * back, it is a node between: one for those that the same code has called in a row. */
#ifndef OFFLINE_ENCODE_TREE_H
#define OFFLINE_ENCODE_TREE_H

#include "offline/encode/encode_symbols.h"

/* When something happened: between these two, CLOCK_MONOTONIC. */
struct tree_time {
	uint64_t from_ns, to_ns;
};

struct tree_call {
	struct tree_time time;
	uint32_t symbol;
};

struct tree_return {
	struct tree_time time;
	uint32_t token; /* TOKEN_RETURN, TOKEN_UNWIND or TOKEN_CUT */
};

/* A value that was read (record --args): right after a call was opened, one of its arguments; right
 * after a call was closed, its result, and behind that what its arguments point to by then. */
struct tree_value {
	uint64_t value;
	uint32_t number; /* of the argument, from 0 */
	bool returned;	 /* it is the result, */
	bool out;	 /* or what that argument points to */
};

enum tree_edge {
	EDGE_THREAD,   /* the thread's own begin or end */
	EDGE_GAP,      /* events are missing here */
	EDGE_UNOPENED, /* a function returned whose call was not seen */
	EDGE_SWITCH,   /* the thread goes on on another stack */
};

/* Where a sequence begins. */
struct tree_place {
	uint32_t task; /* index of pugmark_recording_tasks() */
	int32_t tid, pid;
	const char *thread; /* its name */
	uint64_t event;	    /* number of the trace event in this thread, from 0 */
	uint64_t time_ns;
	enum tree_edge why;
};

/* What the walk is told to. A function that returns non-zero stops it. */
struct tree_sink {
	void *ctx;
	int (*begin)(void *ctx, const struct tree_place *place);
	int (*open)(void *ctx, const struct tree_call *call);
	int (*close)(void *ctx, const struct tree_return *ret);
	int (*end)(void *ctx, enum tree_edge why);
	int (*value)(void *ctx, const struct tree_value *value); /* or NULL */
};

struct tree_walk;

/* @map and @sink outlive the walk. 0 or -ENOMEM. */
int tree_walk_new(struct symbol_map *map, const struct tree_sink *sink, struct tree_walk **out);
void tree_walk_free(struct tree_walk *walk);
/* A thread begins; its events follow; it ends. Each returns 0, -ENOMEM, or what the sink said. */
int tree_walk_begin(struct tree_walk *walk, const struct tree_place *thread);
int tree_walk_event(struct tree_walk *walk, const struct pugmark_trace_event *event);
int tree_walk_end(struct tree_walk *walk);
/* Over all threads so far. */
uint64_t tree_walk_events(const struct tree_walk *walk);
uint64_t tree_walk_gaps(const struct tree_walk *walk);
/* The number in its thread of the event that is being handled, or was last. */
uint64_t tree_walk_event_number(const struct tree_walk *walk);

#endif
