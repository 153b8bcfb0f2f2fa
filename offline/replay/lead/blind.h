/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* blind.h: how a stay in a library ends that is not executed to its end. */
#ifndef OFFLINE_REPLAY_LEAD_BLIND_H
#define OFFLINE_REPLAY_LEAD_BLIND_H

#include "offline/replay/replay.h"

/* Nothing more can be executed until control is in traced code again. An
 * enum value_replay_stop. */
int value_run_go_blind(struct value_run *run, const char *why);
/* Back to the return address at the stack pointer. The same. */
int value_run_return_now(struct value_run *run);

#endif
