/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapshots.h: moments of a run that it can go back to. */
#ifndef OFFLINE_REPLAY_RUN_SNAPSHOTS_H
#define OFFLINE_REPLAY_RUN_SNAPSHOTS_H

#include "offline/replay/run/run_parts.h"
#include "offline/replay/run/suppose.h"

enum { NEAR_SNAPSHOTS = 4 };

/* A moment of a run. Lists are copies. */
struct run_snapshot {
	uint64_t count;
	struct value_snapshot memory;
	struct value_state state;
	struct value_known known;
	uint64_t next, expected, heap_end, assumed, unknown;
	struct supposition supposition;
	uint64_t looked;
	bool outside, in_library, unseen, crowded;
	const char *import;
	struct open_call *calls;
	size_t n_calls;
	struct interrupted *signals;
	size_t n_signals;
	bool forgot_handlers;
	struct residues residues;
	/* Of the other threads, which have no memory of their own; NULL: none is executed. */
	struct run_snapshot *others;
	size_t n_others;
	bool waits, unborn;
	struct torn_call torn;
	int ended;	   /* of the other threads */
	uint64_t executed; /* what they did, up to there in the order */
	uint64_t spent;	   /* value_threads.spent */
};

/* Takes one; one more, of those that are given up soon; goes to one; gives one up.
 * False: memory is out. */
bool value_run_keep(struct value_run *run);
/* Whether one is due. */
bool value_run_is_far(const struct value_run *run);
bool value_run_keep_near(struct value_run *run);
bool value_run_go_back(struct value_run *run, const struct run_snapshot *s);
void value_run_drop(struct value_run *run, struct run_snapshot *s);

/* All but memory, and what others are. False: memory is out. */
bool value_run_take(struct value_run *run, struct run_snapshot *out);
bool value_run_put(struct value_run *run, const struct run_snapshot *s);

#endif
