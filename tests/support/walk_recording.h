/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* walk_recording.h: recordings that no kernel has made: their events are those of random walks
 * (walker.h) through random programs, their files are as a recorder writes them. */
#ifndef TESTS_WALK_RECORDING_H
#define TESTS_WALK_RECORDING_H

#include <stdio.h>

#include <jansson.h>

#include "offline/log/segment.h"
#include "tests/support/walker.h"

/* A plan of the random program @seed, and @n walks of @steps steps through that: walks[i] is of
 * seed
 * @seed + 1000 * i. NULL: the program has a place that no choice of witnesses tells. The caller
 * frees both, by pugmark_plan_free() and walk_deinit(). */
struct pugmark_plan *walk_random_program(uint64_t seed, uint32_t steps, struct walk *walks,
					 uint32_t n);

/* Event @i of @walk as a recorder tells it of module @module: 10 ns behind the one before. */
struct pugmark_witness_event walk_event(const struct walk *walk, uint32_t i, uint16_t module);

/* Writes to a file of events: task @task, forked by task @parent (0: by none that is recorded), */
void walk_put_task(FILE *f, int task, int parent);
/* and @n events of it, of which all witnesses are in @module, that lies at @bias; the task had
 * @first_event before. */
void walk_put_events(FILE *f, uint32_t task, uint64_t first_event, uint16_t module, uint64_t bias,
		     const struct pugmark_witness_event *events, uint32_t n);

/* Writes meta.json of a recording in folder @dir, of @n_modules modules, with the members of @more
 * (taken; NULL: none). */
void walk_write_meta(const char *dir, uint32_t n_modules, json_t *more);

#endif
