/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* awake.h: when the other threads of a run's process were awake, and when its own pieces were
 * executed. A piece is the instructions between two records of the run. Moments are numbers of the
 * order that records have over all tasks. */
#ifndef OFFLINE_REPLAY_THREADS_AWAKE_H
#define OFFLINE_REPLAY_THREADS_AWAKE_H

#include "offline/replay/records/waking.h"
#include "offline/replay/replay.h"

struct spans {
	struct span *at; /* by from, no two touch */
	size_t n, room;
};

struct neighbours {
	struct spans awake;
	struct spans forced;	  /* another process writes past all protections */
	struct spans to_file;	  /* a neighbour writes to a file, perhaps to that of the memory */
	struct capture *mappings; /* by order */
	size_t n_mappings, room_mappings;
	uint64_t memory_opened; /* when in the order (memory_file.h); 0: by none of them */
};

/* Whether a neighbour is awake anywhere between two moments. */
bool value_neighbours_awake(const struct neighbours *n, uint64_t from, uint64_t to);
/* Whether somebody else may have written past all protections between two moments. */
bool value_neighbours_forced(const struct value_run *run, uint64_t from, uint64_t to);
/* When the piece before record @i begins: at record @i - 1 (0: the task's start); and when it ends:
 * at record @i, or where that is a system call or a lost processor, when that began. */
uint64_t value_run_piece_begins(const struct value_run *run, uint64_t i);
uint64_t value_run_piece_ends(const struct value_run *run, uint64_t i);
/* Whether a neighbour was awake while the run executed something from record @first on. */
bool value_run_was_crowded(const struct value_run *run, uint64_t first);
/* Whether the run is over, beside neighbours that are awake (@crowded): behind its last record
 * nothing tells how far it came, nor what it found. */
bool value_run_ends_crowded(const struct value_run *run, bool crowded);

#endif
