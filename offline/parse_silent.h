/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* parse_silent.h: from which decisions of a plan on a function can end without an event. Found when
 * it is asked for, of all that the answer depends on at once; one user at a time. */
#ifndef OFFLINE_PARSE_SILENT_H
#define OFFLINE_PARSE_SILENT_H

#include <pugmark/plan.h>

#include <stdbool.h>

struct parse_silent;

/* @plan is borrowed. Returns 0 and what the caller frees with parse_silent_free(), or -ENOMEM. */
int parse_silent_new(const struct pugmark_plan *plan, struct parse_silent **out);
void parse_silent_free(struct parse_silent *silent);
/* Whether the function can end in silence from @decision on. */
bool parse_silent_decision(struct parse_silent *silent, uint32_t decision);

/* Whether @func can run from entry to return without an event. */
static inline bool parse_silent_func(struct parse_silent *silent, const struct pugmark_plan *plan,
				     uint32_t func)
{
	uint32_t entry = plan->funcs[func].entry;
	/* what is not modelled is entered by nobody that the parser follows */
	return entry == PUGMARK_NONE || parse_silent_decision(silent, entry);
}

/* Whether @n ends its function. */
static inline bool parse_leaves(const struct plan_node *n)
{
	return n->kind == NODE_KIND_EXIT || n->kind == NODE_KIND_RETURN || n->flags & NODE_TAIL;
}

#endif
