/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own_code.h: which code is executed: of traced modules, and of libraries. */
#ifndef OFFLINE_REPLAY_RUN_OWN_CODE_H
#define OFFLINE_REPLAY_RUN_OWN_CODE_H

#include "offline/replay/replay.h"

/* After mappings have changed, what is code of traced modules and of libraries. 0 or
 * -ENOMEM. */
int value_run_code(struct value_run *run);

#endif
