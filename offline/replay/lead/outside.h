/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* outside.h: from record to record, where nothing is executed; and what the kernel does.
 * Those that return int: an enum value_replay_stop. */
#ifndef OFFLINE_REPLAY_LEAD_OUTSIDE_H
#define OFFLINE_REPLAY_LEAD_OUTSIDE_H

#include "offline/replay/replay.h"

/* Takes one record. */
int value_run_outside(struct value_run *run);
/* Of a signal: a handler begins, or nothing was seen of it. */
int value_run_signal(struct value_run *run, const struct capture *c);
/* The next record but of losses of the processor. */
const struct capture *value_run_next_but_switches(const struct value_run *run);
/* A system call, behind which the evaluator stands: its record is taken. */
int value_run_syscall(struct value_run *run);

#endif
