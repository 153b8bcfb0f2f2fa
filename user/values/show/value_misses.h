/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_misses.h: what a simple processor (offline/misses) would have made of each load, store
 * and conditional jump of a recording, and where their addresses lay. */
#ifndef USER_VALUE_MISSES_H
#define USER_VALUE_MISSES_H

#include "offline/replay/replay.h"
#include "user/values/names/value_names.h"
#include "user/values/names/values_options.h"

/* Prints the task: those with the most misses first. *@partial: it ends in a gap. 0, or -errno with
 * @diag filled. */
int value_misses_print(struct value_replay *replay, struct value_names *names, uint32_t task,
		       const struct values_options *options, bool *first, bool *partial,
		       struct pugmark_diag *diag);

#endif
