/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stack_use.h: whether code may write to the stack below the place that it returns to, before it
 * returns. Another variant of it does not write the same there. */
#ifndef OFFLINE_REPLAY_LIBRARIES_STACK_USE_H
#define OFFLINE_REPLAY_LIBRARIES_STACK_USE_H

#include "offline/eval/machine.h"

/* Of the code at @ip, which @m executes now. Decodes all ways through it; where one leads to
 * another function, or cannot be followed, it may. */
bool value_may_use_stack(struct value_machine *m, uint64_t ip);

#endif
