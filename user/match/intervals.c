// SPDX-License-Identifier: LGPL-2.1-or-later
/* intervals.c: see intervals.h. */
#include "user/match/intervals.h"

#include <errno.h>
#include <stdlib.h>

enum { LEAST = 5, TIMES = 4 };

static uint64_t interval_of(const struct match_intervals *m, uint64_t when)
{
	uint64_t length = m->at[0].to;
	return when / length < m->n ? when / length : m->n - 1;
}

/* An error changes what instructions compute that did as expected before, many at once. */
static uint64_t find_rise(const struct match_intervals *m)
{
	uint64_t executed = 0, left = 0;
	for (uint64_t i = 0; i < m->n; i++) {
		const struct match_interval *at = &m->at[i];
		executed += at->executed;
		if (at->left >= LEAST && at->left * 20 >= executed &&
		    at->left * (i ? i : 1) >= TIMES * left)
			return i;
		left += at->left;
	}
	return m->n;
}

int match_intervals_of(const struct match_side *b, const struct match_found *found,
		       uint64_t executed, uint64_t n, struct match_intervals *out)
{
	*out = (struct match_intervals){.at = calloc(n, sizeof(*out->at)), .n = n};
	if (!out->at)
		return -ENOMEM;
	uint64_t length = executed / n + 1;
	for (uint64_t i = 0; i < n; i++)
		out->at[i] = (struct match_interval){.from = i * length, .to = (i + 1) * length};
	for (uint32_t i = 0; i < b->n; i++) {
		if (!b->insns[i].n)
			continue;
		uint32_t left = match_left(b, found, i);
		uint64_t first = interval_of(out, b->insns[i].when[0]);
		out->at[first].executed++;
		if (left == UINT32_MAX)
			continue;
		out->at[interval_of(out, left)].unmatched++;
		out->at[interval_of(out, left)].left +=
			found[i].agreed && found[i].agreed < b->insns[i].n;
	}
	out->rise = find_rise(out);
	return 0;
}
