/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* library.h: code of libraries, executed. */
#ifndef OFFLINE_REPLAY_LEAD_LIBRARY_H
#define OFFLINE_REPLAY_LEAD_LIBRARY_H

#include "offline/replay/replay.h"

/* Goes on in code of libraries, until control is in traced code or nothing more can be
 * executed. An enum value_replay_stop. */
int value_run_library(struct value_run *run);

#endif
