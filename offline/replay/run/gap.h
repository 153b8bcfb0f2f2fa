/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gap.h: a run goes no further, and says why; it tells whoever listens of crossings. */
#ifndef OFFLINE_REPLAY_RUN_GAP_H
#define OFFLINE_REPLAY_RUN_GAP_H

#include "offline/replay/replay.h"

/* The run ends here: why. Returns VALUE_REPLAY_GAP. */
int value_run_fail(struct value_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same where the program has gone another way: value_run_strayed(). */
int value_run_fail_astray(struct value_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Says behind the gap's words that other threads were awake meanwhile, and what helps, where they
 * were. */
void value_run_tell_crowd(const struct value_run *run, struct value_gap *gap);
/* value_run_crossings(): whoever has asked is told. */
void value_run_tell(struct value_run *run, enum value_crossing what, const struct capture *c,
		    const char *import);

#endif
