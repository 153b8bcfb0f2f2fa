/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_refusals.h: which instructions of a binary no probe stands on, by why not. */
#ifndef USER_PLAN_REFUSALS_H
#define USER_PLAN_REFUSALS_H

#include "offline/code/probe_class.h"

#include <pugmark/plan.h>

enum { REFUSALS_MAX = 64 };

struct plan_refusals {
	struct plan_refusal {
		struct probe_refusal reason;
		uint32_t n; /* instructions */
	} at[REFUSALS_MAX];
	uint32_t n; /* the commonest first */
};

/* Reads the instructions of @model that are refused from @binary, by @plan, of the same file.
 * Returns 0, or -errno: the file cannot be read any more. */
int plan_refusals_count(const struct pugmark_model *model, const struct pugmark_plan *plan,
			const char *binary, struct plan_refusals *out);

#endif
