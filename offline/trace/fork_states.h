/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fork_states.h: where forked children begin: the states that their parents' parsers were in when
 * they forked. Filled while parents are parsed; used by any number of threads at once. */
#ifndef OFFLINE_FORK_STATES_H
#define OFFLINE_FORK_STATES_H

#include <pugmark/recording.h>

#include "offline/recover/parser.h"

struct fork_states;

/* @rec outlives the result, which fork_states_free() frees. 0 or -ENOMEM. */
int fork_states_new(const struct pugmark_recording *rec, struct fork_states **out);
void fork_states_free(struct fork_states *states);
/* The recording has more tasks. While no other thread uses it. 0 or -ENOMEM. */
int fork_states_grow(struct fork_states *states);
/* Keeps a copy of @parser for the child whose task number is @child, unless there is one. 0 or
 * -ENOMEM. */
int fork_states_keep(struct fork_states *states, uint32_t child, const struct parser *parser);
/* What the task at index @task starts from, or NULL; lives as long as @states. */
const struct parser *fork_states_of(struct fork_states *states, uint32_t task);
/* The index of the task that must be parsed first so that all is known of @task, or PUGMARK_NONE:
 * it is no child, or its parent has been parsed already. */
uint32_t fork_states_missing(struct fork_states *states, uint32_t task);
/* The task at index @task was parsed to its end: all its children are known. */
void fork_states_parsed(struct fork_states *states, uint32_t task);

#endif
