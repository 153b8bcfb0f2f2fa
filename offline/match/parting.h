/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* parting.h: where the second run parts from the first one, by values alone, whichever instruction
 * has them:
 *
 *   first    7  19  42  8  55  3  61  ...      values that both have once are anchors; the longest
 *            |   |       |     \   |           chain of them in the order of both runs says what
 *   second   7  19  40  8  .    3  61  ...     was at about the same time
 *                    ^
 *                    strange: 40 is nowhere between the anchors around it
 *
 * A *turn* is where an instruction becomes strange that has done what the first run has done as
 * well until then, or where the second run leaves out a large part of the first one. What follows
 * an error has turns; what an optimiser computes on its own is strange from its start. */
#ifndef OFFLINE_MATCH_PARTING_H
#define OFFLINE_MATCH_PARTING_H

#include "offline/match/match.h"

struct match_turn {
	uint32_t when; /* instructions of the second run */
	float weight;
};

struct match_parting {
	uint32_t *strange; /* of each instruction: when it was first; UINT32_MAX: never */
	uint32_t *common;  /* how many of its executions are not strange */
	struct match_turn *turns;
	uint32_t n_turns;
};

/* @executed: instructions of both runs; zeros: they go on, so that nothing is left out. 0 or
 * -ENOMEM; to be freed with match_parting_deinit() in both cases. */
int match_parting_init(struct match_parting *p, const struct match_side *a,
		       const struct match_side *b, const uint64_t executed[2]);
void match_parting_deinit(struct match_parting *p);
/* How many turns follow after the time @when, and how soon: of each 1 / distance. */
float match_parting_follows(const struct match_parting *p, uint32_t when);

#endif
