/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* calls.h: calls out of traced code, and returns. */
#ifndef OFFLINE_REPLAY_LEAD_CALLS_H
#define OFFLINE_REPLAY_LEAD_CALLS_H

#include "offline/replay/run/run_parts.h"

/* Control has left traced code. An enum value_replay_stop. */
int value_run_leave(struct value_run *run);
/* The call is over: what the ABI says that it keeps is as it was. */
void value_run_give_back(struct value_run *run, const struct open_call *call);
/* What was below the stack pointer of a call is nobody's. */
void value_run_dead_stack(struct value_run *run, uint64_t sp);
/* A callback, a handler or the program has returned to its caller, which is not executed. */
void value_run_returned(struct value_run *run);

#endif
