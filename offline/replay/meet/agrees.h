/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* agrees.h: whether a record may be of this moment. */
#ifndef OFFLINE_REPLAY_MEET_AGREES_H
#define OFFLINE_REPLAY_MEET_AGREES_H

#include "offline/replay/replay.h"

/* Whether the registers that the record tells are what was computed. */
bool value_run_agrees(const struct value_run *run, const struct capture *c);
/* The evaluator is behind a system call. Whether the record @c may be of it: the place,
 * the stack pointer, number and arguments are the same, as far as they are exact. */
bool value_run_same_call(const struct value_run *run, const struct capture *c);
/* What the record of a signal or a loss of the processor tells of the registers there,
 * however many turns of a string instruction were done; whether it may be of this moment; whether
 * turns were done, or that is not known; does them, and leaves the registers to the record. What is
 * not known of that is assumed in memory. */
uint32_t value_run_told_there(struct value_run *run, const struct capture *c);
bool value_run_agrees_there(struct value_run *run, const struct capture *c);
bool value_run_is_amid(struct value_run *run, const struct capture *c);
void value_run_do_turns(struct value_run *run, const struct capture *c, struct value_trace *trace);

#endif
