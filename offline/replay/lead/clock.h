/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock.h: what the kernel's image tells of the time. */
#ifndef OFFLINE_REPLAY_LEAD_CLOCK_H
#define OFFLINE_REPLAY_LEAD_CLOCK_H

#include "offline/replay/replay.h"

/* Does the function @name of the kernel's image, at whose begin control is. An
 * enum value_replay_stop. */
int value_run_tell_time(struct value_run *run, const char *name);

#endif
