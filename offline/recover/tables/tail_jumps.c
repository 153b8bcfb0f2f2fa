// SPDX-License-Identifier: LGPL-2.1-or-later
/* tail_jumps.c: see tail_jumps.h. A breadth-first search over the tail jumps of the plan, however
 * many functions it comes to: each is looked at once. */
#include "offline/recover/tables/tail_jumps.h"

#include <string.h>

/* Begins a search: nothing has been seen. */
static struct jump_search *begin(struct parse_tables *t)
{
	struct jump_search *s = &t->jumps;
	if (!++s->now) { /* after four thousand million searches */
		memset(s->seen, 0, t->plan->n_funcs * sizeof(*s->seen));
		s->now = 1;
	}
	s->n = 0;
	return s;
}

static void go_to(struct jump_search *s, uint32_t func)
{
	if (s->seen[func] == s->now)
		return;
	s->seen[func] = s->now;
	s->funcs[s->n++] = func;
}

/* Whether the entry of @f shows. */
static bool shows(const struct pugmark_plan_func *f)
{
	return f->flags & PUGMARK_PLAN_FUNC_ENTERED && f->entry != PUGMARK_NONE;
}

/* One search for both questions. @unseen: also through functions that are not traced and by
 * pointers, but not on from a function whose entry shows. */
static bool search(struct parse_tables *t, uint32_t from, uint32_t to, bool unseen)
{
	const struct pugmark_plan *plan = t->plan;
	struct jump_search *s = begin(t);
	go_to(s, from);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct pugmark_plan_func *f = &plan->funcs[s->funcs[i]];
		if (s->funcs[i] == to)
			return true;
		if (unseen && i && shows(f))
			continue;
		for (uint32_t k = f->node; k < f->node + f->n_nodes; k++) {
			const struct pugmark_plan_node *n = &plan->nodes[k];
			if (!(n->flags & PUGMARK_NODE_TAIL) ||
			    (unseen && n->kind == PUGMARK_NODE_KIND_LEAF))
				continue;
			uint32_t callee = unseen || n->kind == PUGMARK_NODE_KIND_CALL
						  ? plan_named_callee(n)
						  : PUGMARK_NONE;
			if (callee != PUGMARK_NONE)
				go_to(s, callee);
			else if (unseen ? parse_tables_enterable(t, to) : to == PUGMARK_NONE)
				return true;
		}
	}
	return false;
}

bool tail_jumps_lead(struct parse_tables *t, uint32_t from, uint32_t to)
{
	return search(t, from, to, false);
}

bool tail_jumps_may_lead(struct parse_tables *t, uint32_t from, uint32_t to)
{
	return search(t, from, to, true);
}
