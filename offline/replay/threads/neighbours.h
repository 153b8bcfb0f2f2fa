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
/* Takes into the run's memory what its neighbours did before the run's next record. Called again
 * before the same record it does nothing. Returns an enum value_replay_stop. */
int value_run_neighbours(struct value_run *run);
/* @c: the record that was taken last. Whether neighbours were awake between the record before it
 * and the end of @c; those that are executed together with the run (threads.c) do not count. */
bool value_run_met_until(const struct value_run *run, const struct capture *c);

#endif
