/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* led.h: where a system call writes is told by memory that it may write itself: an array of struct
 * iovec, a struct msghdr, the pointers of clone3(). What it has written is read when it is over, by
 * what that memory leads to then. */
#ifndef OFFLINE_REPLAY_MEET_LED_H
#define OFFLINE_REPLAY_MEET_LED_H

#include "offline/capture/captures.h"

#include <stdbool.h>

struct value_run;

/* Whether the call of @c has written over what had told it where to write, so that what it has
 * captured is of other memory. Asked before what it has captured is in the run's memory. */
bool value_run_led_astray(struct value_run *run, const struct capture *c);

#endif
