/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* awake.h: when the other threads of a run's process were awake, and when its own pieces were
 * executed: what lies between two of its records. Moments are of the order over all tasks. */
#ifndef OFFLINE_REPLAY_THREADS_AWAKE_H
#define OFFLINE_REPLAY_THREADS_AWAKE_H

#include "offline/replay/records/waking.h"
#include "offline/replay/replay.h"

struct neighbours {
	struct span *awake; /* by from, no two touch */
	size_t n_awake, room_awake;
	struct capture *mappings; /* by order */
	size_t n_mappings, room_mappings;
	uint64_t memory_opened; /* when in the order (memory_file.h); 0: by none of them */
};

/* Whether a neighbour is awake anywhere between two moments. */
bool value_neighbours_awake(const struct neighbours *n, uint64_t from, uint64_t to);
/* The moment of the record before @i, and up to when the instructions before record @i are
 * executed. */
uint64_t value_run_piece_begins(const struct value_run *run, uint64_t i);
uint64_t value_run_piece_ends(const struct value_run *run, uint64_t i);
/* Whether a neighbour was awake while the run executed something from record @first on. */
bool value_run_was_crowded(const struct value_run *run, uint64_t first);

#endif
