/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* switches.h: the task has lost the processor, or a signal has found it. */
#ifndef OFFLINE_REPLAY_MEET_SWITCHES_H
#define OFFLINE_REPLAY_MEET_SWITCHES_H

#include "offline/replay/replay.h"

/* Whether the task lost the processor at this very moment: that record is taken. The
 * place is met once more then, for what else is recorded there. @trace as in value_machine_run().
 */
bool value_run_switched(struct value_run *run, struct value_trace *trace);
/* Whether a signal found the task at this very moment: that record is taken, and what would be
 * other at a later moment that it agrees with is assumed. */
bool value_run_signalled(struct value_run *run, struct value_trace *trace);
/* As value_run_switched() behind the record of a place that was met: those are taken, and the place
 * is left, unless turns of its instruction come before the next of them. */
void value_run_switched_behind(struct value_run *run);
/* At a system call, before a record of such a loss: whether it was here, so that the call comes
 * once more. Else it was not found where it was, and who else executed meanwhile is not known. */
bool value_run_switched_before(struct value_run *run, const struct capture *c);
/* The next record is of such a loss, and the run is past it. */
void value_run_switch_missed(struct value_run *run);

#endif
