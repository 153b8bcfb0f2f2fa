/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* neighbours.h: what other threads have done between two records of a run. */
#ifndef OFFLINE_REPLAY_THREADS_NEIGHBOURS_H
#define OFFLINE_REPLAY_THREADS_NEIGHBOURS_H

#include "offline/replay/replay.h"

struct neighbours;

/* Fills replay->outer: what other processes write here. 0 or -ENOMEM. */
int value_neighbours_outer(struct value_replay *replay);
/* Whether a thread of the process may have run of which nothing is left: the captures are not
 * whole, and have none of one that is told of. */
bool value_neighbours_lost(const struct value_replay *replay, int32_t pid);
/* Those of @task, NULL if there are none. */
int value_neighbours_new(const struct value_replay *replay, uint32_t task, struct neighbours **out);
void value_neighbours_free(struct neighbours *n);
/* What they do between two records of the run: nothing if it was asked for them before. An
 * enum value_replay_stop. */
int value_run_neighbours(struct value_run *run);
/* Whether others, who are not executed here together with it, were awake from the record before @c,
 * the last one taken, until @c ended. */
bool value_run_met_until(const struct value_run *run, const struct capture *c);

#endif
