/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* slowest.h: the slowest of many calls: by what they certainly took, then by what they may have. */
#ifndef USER_VIEW_SLOWEST_H
#define USER_VIEW_SLOWEST_H

#include "user/view/report/report.h"

struct slowest {
	struct report_slow *at; /* heap memory; the least slow first, until slowest_sort() */
	uint32_t n, most;
};

/* Keeps @most calls. The caller frees ->at. 0 or -ENOMEM. */
int slowest_init(struct slowest *slowest, uint32_t most);
/* Keeps @call if it is one of the slowest so far. */
void slowest_keep(struct slowest *slowest, const struct report_slow *call);
void slowest_merge(struct slowest *slowest, const struct slowest *from);
/* The slowest first; nothing is kept any more. */
void slowest_sort(struct slowest *slowest);

#endif
