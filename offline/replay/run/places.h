/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* places.h: places of the recording in a run. */
#ifndef OFFLINE_REPLAY_RUN_PLACES_H
#define OFFLINE_REPLAY_RUN_PLACES_H

#include "offline/replay/replay.h"

/* The run-time address of what is at @addr in the module that the record @c is of. */
uint64_t value_run_place_ip(const struct value_run *run, const struct capture *c, uint64_t addr);
/* Whether a record tells of the end of a call that returns to @ret. */
bool value_run_awaits(const struct value_run *run, uint64_t ret);
/* Whether a record is made each time that control comes to the place at @ip. */
bool value_run_tells(const struct value_run *run, uint64_t ip);
/* Whether nothing says when the last call out, which is not executed, was over: its end is watched
 * no longer, and the next record that leads back to traced code may be from long after it. */
bool value_run_is_lost(const struct value_run *run);

#endif
