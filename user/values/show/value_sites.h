/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_sites.h: of each instruction of a run that loads, stores or jumps by a condition: how often
 * a simple processor would have missed, and what its addresses and results were like. */
#ifndef USER_VALUE_SITES_H
#define USER_VALUE_SITES_H

#include "offline/misses/misses.h"
#include "offline/replay/replay.h"

/* So many different ones are told apart. */
enum { SITE_DISTINCT = 1000, SITE_STRIDES = 8 };

struct site_set {
	uint64_t *at; /* of a power of two; NULL: empty */
	uint32_t n;
	bool zero, more; /* 0 is in it; there are more than SITE_DISTINCT */
};

struct value_site {
	uint64_t ip;  /* run-time */
	uint8_t what; /* enum miss_what */
	uint64_t executions, misses, taken;
	bool has_results;
	struct site_set addresses, results;
	/* By how much an address differs from the one before: the first of them that differ. */
	uint64_t last, stride[SITE_STRIDES], times[SITE_STRIDES];
	uint32_t n_strides;
};

struct value_sites {
	struct value_site *at;
	uint32_t n;
	uint64_t executions[3], misses[3]; /* by enum miss_what */
	enum value_replay_stop stop;
};

/* Executes @run to its end. 0, or -ENOMEM. */
int value_sites_find(struct value_run *run, struct value_sites *out);
void value_sites_deinit(struct value_sites *sites);
/* How many different ones, at most SITE_DISTINCT. */
static inline uint32_t site_set_count(const struct site_set *set)
{
	return set->more ? SITE_DISTINCT : set->n + set->zero;
}

#endif
