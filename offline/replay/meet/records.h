/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* records.h: what a record says becomes the state. Those that return int: 0 or -ENOMEM. */
#ifndef OFFLINE_REPLAY_MEET_RECORDS_H
#define OFFLINE_REPLAY_MEET_RECORDS_H

#include "offline/replay/replay.h"

/* Stops where the next record stands, if that is a point that is not known before. */
int value_run_expect(struct value_run *run);
/* Registers and flags that it tells; bytes; all that a system call did. */
void value_run_registers(struct value_run *run, const struct capture *c);
int value_run_ranges(struct value_run *run, const struct capture *c);
int value_run_kernel(struct value_run *run, const struct capture *c);
/* Whether the next record says what a function of the kernel's image has told. */
bool value_run_told_time(const struct value_run *run);
/* Code that nobody executes here may have written anything. */
void value_run_doubt(struct value_run *run);
/* Whether the instruction before @ip is a system call. */
bool value_run_behind_syscall(struct value_run *run, uint64_t ip);
/* Whether the task has ended at this very moment: the place, and the registers where they are told.
 */
bool value_run_ends(struct value_run *run, const struct capture *c);

#endif
