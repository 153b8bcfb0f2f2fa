/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* first_nullable.h: from which decisions of a plan on a function can end without an event. Found
 * when it is asked for, of all that the answer depends on at once; one user at a time. */
#ifndef OFFLINE_FIRST_NULLABLE_H
#define OFFLINE_FIRST_NULLABLE_H

#include <pugmark/plan.h>

#include <stdbool.h>

struct first_nullable;

/* @plan is borrowed. Returns 0 and what the caller frees with first_nullable_free(), or -ENOMEM. */
int first_nullable_new(const struct pugmark_plan *plan, struct first_nullable **out);
void first_nullable_free(struct first_nullable *silent);
/* Whether the function can end in silence from @decision on. */
bool first_nullable_decision(struct first_nullable *silent, uint32_t decision);

/* Whether @func can run from entry to return without an event. */
static inline bool first_nullable_func(struct first_nullable *silent,
				       const struct pugmark_plan *plan, uint32_t func)
{
	uint32_t entry = plan->funcs[func].entry;
	/* what is not modelled is entered by nobody that the parser follows */
	return entry == PUGMARK_NONE || first_nullable_decision(silent, entry);
}

/* Whether @n ends its function. */
static inline bool parse_leaves(const struct pugmark_plan_node *n)
{
	return n->kind == PUGMARK_NODE_KIND_EXIT || n->kind == PUGMARK_NODE_KIND_RETURN ||
	       n->flags & PUGMARK_NODE_TAIL;
}

#endif
