/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_history.h: moves through a replayed task up to a breakpoint or a watched place, in both
 * directions. */
#ifndef USER_VALUES_GDB_HISTORY_H
#define USER_VALUES_GDB_HISTORY_H

#include "offline/replay/replay.h"

enum gdb_hit_kind {
	GDB_HIT_STEP, /* one instruction */
	GDB_HIT_BREAK,
	GDB_HIT_WATCH,
	GDB_HIT_BEGIN,	/* of what was recorded */
	GDB_HIT_END,	/* or of what could be replayed */
	GDB_HIT_FAILED, /* memory is out, or no replay leads there: the run is anywhere */
};

struct gdb_hit {
	enum gdb_hit_kind why;
	unsigned kind;	/* of the watchpoint, as in gdb's Z packet: 2 write, 3 read, 4 both */
	uint64_t addr;	/* of the watchpoint */
	uint64_t count; /* instructions before the moment that gdb sees */
};

struct gdb_watch {
	unsigned kind; /* 0, 1: breakpoints */
	uint64_t addr, len;
};

struct gdb_history {
	struct value_run *run;
	struct gdb_watch *watches;
	size_t n_watches;
	struct value_trace trace;
	bool down; /* the direction flag where the trace begins */
	/* Is told how many instructions a search has executed, each time that there are more; NULL:
	 * nobody. */
	void (*progress)(void *ctx, uint64_t instructions);
	void *progress_ctx;
	uint64_t executed; /* by all searches; the caller begins it anew */
};

/* The caller sets @run before it moves: the watches are of all runs. 0 or -ENOMEM. */
int gdb_history_init(struct gdb_history *h);
void gdb_history_deinit(struct gdb_history *h);
/* 0 or -ENOMEM. */
int gdb_history_watch(struct gdb_history *h, unsigned kind, uint64_t addr, uint64_t len);
int gdb_history_unwatch(struct gdb_history *h, unsigned kind, uint64_t addr, uint64_t len);

/* Each moves the run and says in @hit why it stopped there. */
void gdb_history_step(struct gdb_history *h, struct gdb_hit *hit);
void gdb_history_step_back(struct gdb_history *h, struct gdb_hit *hit);

/* A search of one run for its first hit, or the last one before. */
struct gdb_search {
	bool back;
	uint64_t at;   /* instructions before what has not been looked through */
	uint64_t from; /* a breakpoint before that instruction does not count */
	/* In the order over all tasks (value_run_when()): when the instruction @at was executed, or
	 * the one that was hit. */
	uint64_t begins, ends;
	bool near_done, over;
	uint64_t waits;	    /* 0, or until when the thread waits in the call that comes next */
	struct gdb_hit hit; /* if it is over; GDB_HIT_BEGIN and _END: nothing was found; _FAILED:
			     * it could not go on */
};

/* Begins where the run is; a breakpoint that is hit there counts if @here. */
void gdb_search_begin(struct gdb_history *h, struct gdb_search *s, bool back, bool here);
/* Looks through one more piece. Where it has found something the run is there, else anywhere. */
void gdb_search_go_on(struct gdb_history *h, struct gdb_search *s);

#endif
