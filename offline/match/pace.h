/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pace.h: how far the first program had come when the second one had come so far, by instructions
 * that are known to match. Two loops that do the same, one behind the other, are told apart by
 * when. */
#ifndef OFFLINE_MATCH_PACE_H
#define OFFLINE_MATCH_PACE_H

#include "offline/match/match.h"

struct match_window {
	uint32_t least, most; /* instructions of the first program's run, as match_insn.when */
};

struct match_pace {
	struct match_window *at; /* by time of the second run, each @width instructions of it */
	uint32_t n;		 /* 0: nothing is known */
	uint32_t width;
	struct match_pair {
		uint32_t a, b; /* when two that match were executed, in each run */
	} * pairs;	       /* by b */
	uint64_t n_pairs;
};

/* By so many executions of each of @b's instructions as @steps says: in these it did, one by one,
 * what its partner in @found did. 0 or -ENOMEM. The caller gives back what is there, with
 * match_pace_deinit(). */
int match_pace_init(struct match_pace *pace, const struct match_side *a, const struct match_side *b,
		    const struct match_found *found, const uint32_t *steps);
/* How far @a, a time of the first run, is from what @b of the second one is expected to be there;
 * 0 where nothing is known. */
uint32_t match_pace_distance(const struct match_pace *pace, uint32_t a, uint32_t b);
void match_pace_deinit(struct match_pace *pace);

static inline struct match_window match_pace_at(const struct match_pace *pace, uint32_t when)
{
	uint32_t i = pace->n && when != UINT32_MAX ? when / pace->width : pace->n;
	return i < pace->n ? pace->at[i] : (struct match_window){0, UINT32_MAX};
}

#endif
