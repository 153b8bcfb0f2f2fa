/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* intervals.h: unmatched instructions over the time of the second run, and where they rise. */
#ifndef USER_MATCH_INTERVALS_H
#define USER_MATCH_INTERVALS_H

#include "offline/match/match.h"

struct match_interval {
	uint64_t from, to;  /* instructions of the second run */
	uint32_t executed;  /* instructions with a history, for the first time in this interval */
	uint32_t unmatched; /* those that are unmatched from some time in this interval on */
	uint32_t left;	    /* of these: matched in an interval before */
};

struct match_intervals {
	struct match_interval *at;
	uint64_t n;
	uint64_t rise; /* of @at; n: none */
};

/* When instruction @i is no longer matched; UINT32_MAX: never. */
static inline uint32_t match_left(const struct match_side *b, const struct match_found *found,
				  uint32_t i)
{
	const struct match_insn *m = &b->insns[i];
	if (!m->n || found[i].matched)
		return UINT32_MAX;
	return m->when[found[i].agreed < m->n ? found[i].agreed : 0];
}

/* 0 or -ENOMEM. @out->at is the caller's to free. */
int match_intervals_of(const struct match_side *b, const struct match_found *found,
		       uint64_t executed, uint64_t n, struct match_intervals *out);

#endif
