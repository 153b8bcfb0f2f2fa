/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mappings.h: memory is mapped, moved or given back, as a record says. */
#ifndef OFFLINE_REPLAY_RUN_MAPPINGS_H
#define OFFLINE_REPLAY_RUN_MAPPINGS_H

#include "offline/replay/replay.h"

/* What a system call did to the mappings. 0 or -errno: only -ENOMEM is not the program's. */
int value_run_map(struct value_run *run, const struct capture *c);

#endif
