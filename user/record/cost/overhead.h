/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* overhead.h: which part of the traced processes' time probes cost, and which functions have to go
 * for that to stay within bounds. */
#ifndef USER_OVERHEAD_H
#define USER_OVERHEAD_H

#include "user/kernel/probes.h"
#include "user/record/write/collector.h"

struct overhead;

/* Measures what a probe costs here, if nobody has. Borrows @probes and @collector. */
int overhead_new(double max_percent, struct probes *probes, struct collector *collector,
		 struct overhead **out);
void overhead_free(struct overhead *o);
/* Checks the time since the last call. Returns 1 where probes cost more than they may, 0, or
 * -ENOMEM. @now: what is probed; borrowed until the next call. */
int overhead_check(struct overhead *o, const struct recorder_options *now);
/* What the last check found: the percentage of their own time that probes cost the processes; below
 * 0: there was not enough time yet to tell. */
double overhead_percent(const struct overhead *o);
/* Whether it is so much that probes should be off until something else is planned. */
bool overhead_is_far(const struct overhead *o);
/* Chooses the functions that go, after a check that found it necessary: takes a while, and may be
 * called in another thread while nothing else is asked of @o. Returns how many more they are than
 * before, or -ENOMEM. */
int overhead_choose(struct overhead *o);
/* All functions that are to go so far. */
const struct taken_out *overhead_taken(const struct overhead *o, uint32_t *n);
/* In words: what was measured, and the functions that were chosen last. */
const char *overhead_words(const struct overhead *o);
/* To be called when what is probed was changed: what was counted before does not count any more. */
void overhead_restart(struct overhead *o);

#endif
