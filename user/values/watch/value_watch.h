/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_watch.h: every write and read of a range of memory, or of a variable, by a
 * task, in order. */
#ifndef USER_VALUE_WATCH_H
#define USER_VALUE_WATCH_H

#include "user/values/names/value_names.h"
#include "user/values/names/values_options.h"

/* Prints those of options->watch. *@first, of a JSON list, is cleared; *@partial is set where the
 * task has a gap, or a pointer on the way was written more often than is followed. */
int value_watch_print(struct value_replay *replay, struct value_names *names, uint32_t task,
		      const struct values_options *options, bool *first, bool *partial,
		      struct pugmark_diag *diag);

#endif
