/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turn.h: turns one execution of one conditional jump of a child that waits at its exec. */
#ifndef USER_AGAIN_TURN_H
#define USER_AGAIN_TURN_H

#include "user/again/private_run.h"

/* The child is stopped behind its exec, traced by the caller. Lets it run up to the jump's
 * execution, turns that, and lets it go untraced. 1: done; 0: it ended before (@result->status);
 * -errno with @result->why filled; -EINTR: a signal came (the alarm). */
int turn_jump(pid_t pid, const struct turned_jump *turn, struct private_result *result);

#endif
