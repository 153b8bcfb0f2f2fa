/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock_removal.h: takes clock_calls.h out again, of the process and of what it has forked. */
#ifndef USER_CLOCK_REMOVAL_H
#define USER_CLOCK_REMOVAL_H

#include "user/values/clock/clock_calls.h"

/* Returns in how many processes its memory stays: a thread stands in it for long, another program
 * traces it, another process has the same memory, or it could not be looked at for want of memory
 * or descriptors. Their functions are as they were, unless that is so. */
unsigned clock_removal(const struct clock_calls *calls);

#endif
