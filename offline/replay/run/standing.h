/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* standing.h: which record comes next (and replay.h: how many instructions were executed). */
#ifndef OFFLINE_REPLAY_RUN_STANDING_H
#define OFFLINE_REPLAY_RUN_STANDING_H

#include "offline/replay/replay.h"

/* The next; NULL: none. */
const struct capture *value_run_record(const struct value_run *run);
/* Record @i; NULL: there is none. Both are borrowed as kept_records.h says. */
const struct capture *value_run_record_at(const struct value_run *run, uint64_t i);

#endif
