/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_entry.h: which witnesses of a plan say that a function was entered from anywhere. */
#ifndef OFFLINE_PLAN_ENTRY_H
#define OFFLINE_PLAN_ENTRY_H

#include <pugmark/plan.h>

#include <stdbool.h>

/* Whether @site, of an alternative of @entry, the decision at the entry of a function with
 * PLAN_FUNC_ENTERED, tells of that entry: the only one does, or else each that may bring the
 * stack. */
static inline bool plan_tells_entry(const struct pugmark_plan *plan,
				    const struct plan_decision *entry, uint32_t site)
{
	return entry->n == 1 || plan->sites[site].capture & CAPTURE_SNAPSHOT;
}

#endif
