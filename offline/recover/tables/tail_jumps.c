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

bool tail_jumps_lead(struct parse_tables *t, uint32_t from, uint32_t to)
{
	const struct pugmark_plan *plan = t->plan;
	struct jump_search *s = begin(t);
	go_to(s, from);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct pugmark_plan_func *f = &plan->funcs[s->funcs[i]];
		if (s->funcs[i] == to)
			return true;
		for (uint32_t k = f->node; k < f->node + f->n_nodes; k++) {
			const struct pugmark_plan_node *n = &plan->nodes[k];
			if (!(n->flags & PUGMARK_NODE_TAIL))
				continue;
			if (n->kind == PUGMARK_NODE_KIND_CALL)
				go_to(s, n->callee);
			else if (to == PUGMARK_NONE)
				return true;
		}
	}
	return false;
}

/* Whether the entry of @f shows. */
static bool shows(const struct pugmark_plan_func *f)
{
	return f->flags & PUGMARK_PLAN_FUNC_ENTERED && f->entry != PUGMARK_NONE;
}

bool tail_jumps_may_lead(struct parse_tables *t, uint32_t from, uint32_t to)
{
	const struct pugmark_plan *plan = t->plan;
	struct jump_search *s = begin(t);
	go_to(s, from);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct pugmark_plan_func *f = &plan->funcs[s->funcs[i]];
		if (s->funcs[i] == to)
			return true;
		if (i && shows(f))
			continue;
		for (uint32_t k = f->node; k < f->node + f->n_nodes; k++) {
			const struct pugmark_plan_node *n = &plan->nodes[k];
			if (!(n->flags & PUGMARK_NODE_TAIL) || n->kind == PUGMARK_NODE_KIND_LEAF)
				continue;
			uint32_t callee = plan_named_callee(n);
			if (callee != PUGMARK_NONE)
				go_to(s, callee);
			else if (parse_tables_enterable(t, to))
				return true;
		}
	}
	return false;
}
