/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads_open.h: which threads a run is executed with. */
#ifndef OFFLINE_REPLAY_THREADS_OPEN_H
#define OFFLINE_REPLAY_THREADS_OPEN_H

#include "offline/replay/replay.h"

/* Of @run, which has no state yet: all others are made, and those that were there at the start
 * begin. 0 or -ENOMEM; without memory for more, or where they cannot be told, run->threads is NULL.
 */
int value_threads_new(struct value_run *run, uint32_t task);

#endif
