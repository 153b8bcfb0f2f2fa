/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unknown_code.h: what is said of code of a planned file that is in no function. */
#ifndef USER_UNKNOWN_CODE_H
#define USER_UNKNOWN_CODE_H

#include <pugmark/plan.h>

struct unknown_code {
	uint32_t n; /* places */
	uint64_t bytes, first;
};

#define UNKNOWN_CODE_WORDS                                                                         \
	"code of no known function may be at %u place%s (%llu bytes, from %llx on): an "           \
	"indirect call of it is told as a call outside (-); with --mode full it is a gap"

static inline struct unknown_code unknown_code_of(const struct pugmark_plan *plan)
{
	uint32_t from = pugmark_plan_unknown_code(plan);
	struct unknown_code u = {.n = plan->unresolved - from};
	for (uint32_t i = from; i < plan->unresolved; i++)
		u.bytes += plan->unresolved_at[i].len_bytes;
	if (u.n)
		u.first = plan->unresolved_at[from].addr;
	return u;
}

#endif
