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
	GDB_HIT_BEGIN, /* of what was recorded */
	GDB_HIT_END,   /* or of what could be replayed */
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
/* To the first hit, or the last one before; a breakpoint that is hit at the run's own place counts
 * if @here. A search that has come past the moment @limit of the order over all tasks may end
 * there, as at the end or the beginning. */
void gdb_history_forward(struct gdb_history *h, bool here, uint64_t limit, struct gdb_hit *hit);
void gdb_history_back(struct gdb_history *h, uint64_t limit, struct gdb_hit *hit);

#endif
