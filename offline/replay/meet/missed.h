/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* missed.h: system calls that the task has made and the run has not. */
#ifndef OFFLINE_REPLAY_MEET_MISSED_H
#define OFFLINE_REPLAY_MEET_MISSED_H

#include "offline/replay/replay.h"

/* Passes over records of system calls that the run has missed as it went another way, if
 * it is at what one of the next tells, as @at says. LIMIT or NO_MEMORY. */
typedef bool (*value_run_at)(const struct value_run *run, const struct capture *c);
int value_run_pass_missed(struct value_run *run, value_run_at at);
/* The evaluator is behind a system call of which that is the record; at the begin of a function of
 * the kernel's image that has told it. */
bool value_run_at_call(const struct value_run *run, const struct capture *c);
bool value_run_at_clock(const struct value_run *run, const struct capture *c);

#endif
