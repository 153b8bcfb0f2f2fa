// SPDX-License-Identifier: LGPL-2.1-or-later
/* ways.c: see settle_impl.h. From a decision on, through nodes without a witness and callees that
 * can end without one, up to a place in the same activation: a breadth-first search, so that of
 * several ways one of the shortest is found. */
#include "offline/recover/settle/settle_impl.h"

#include <string.h>

static void add_way(struct settling *s, uint32_t decision, uint32_t func, uint32_t node, int from)
{
	if (decision == PUGMARK_NONE)
		return;
	uint32_t h = decision * 2654435761u ^ func * 40503u;
	for (uint32_t i; (i = s->table[h % (2 * WAYS_MAX)]); h++)
		if (s->ways[i - 1].decision == decision && s->ways[i - 1].func == func) {
			s->ways[i - 1].twice = true;
			return;
		}
	if (s->n_ways == WAYS_MAX) {
		s->too_many = true;
		return;
	}
	s->ways[s->n_ways++] = (struct way){decision, func, node, from, false};
	s->table[h % (2 * WAYS_MAX)] = s->n_ways;
}

/* Where silence leads over @node, from the way @from. */
static void add_next(struct settling *s, uint16_t module, uint32_t node, int from)
{
	const struct parser *p = s->p;
	const struct pugmark_plan_node *n = node_at(p, module, node);
	bool call = n->kind == PUGMARK_NODE_KIND_CALL, tail = n->flags & PUGMARK_NODE_TAIL;
	uint32_t decision;
	if (n->site != PUGMARK_NONE ||
	    (call && !tail && !parse_tables_func_empty(p->tables[module], n->callee)))
		return;
	if (silence_over(p->plans[module], n, &decision))
		add_way(s, decision, tail ? n->callee : s->ways[from].func, node, from);
}

/* The alternative of the way's decision by which it comes to the goal, or PUGMARK_NONE. */
static uint32_t reached(const struct settling *s, const struct pugmark_plan *plan,
			const struct way *w, enum goal goal, uint32_t node, uint32_t func)
{
	const struct pugmark_plan_decision *d = &plan->decisions[w->decision];
	for (uint32_t i = d->first; i < d->first + d->n; i++) {
		uint32_t alt = plan->alternatives[i];
		const struct pugmark_plan_node *n = &plan->nodes[alt];
		bool out = n->flags & PUGMARK_NODE_TAIL && n->site == PUGMARK_NONE &&
			   (n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
			    (n->kind == PUGMARK_NODE_KIND_LEAF && s->func == PUGMARK_NONE));
		if (goal == GOAL_OUT ? out : alt == node && (node || w->func == func))
			return alt;
	}
	return PUGMARK_NONE;
}

/* Whether the way's decision is the one after @node, 0: at the entry of @func. */
static bool is_after(const struct settling *s, const struct pugmark_plan *plan, int at,
		     uint32_t node, uint32_t func)
{
	const struct way *w = &s->ways[at];
	if (node)
		return w->node == node;
	return w->func == func && w->decision == plan->funcs[func].entry &&
	       (w->from < 0 || plan->nodes[w->node].flags & PUGMARK_NODE_TAIL);
}

bool settle_add_step(struct settling *s, uint32_t node, bool into)
{
	if (s->n_steps == STEPS_MAX)
		return false;
	s->steps[s->n_steps++] = (struct step){node, into};
	return true;
}

/* The steps along the ways up to @at. */
static bool add_steps(struct settling *s, int at)
{
	uint32_t first = s->n_steps;
	for (; s->ways[at].from >= 0; at = s->ways[at].from)
		if (!settle_add_step(s, s->ways[at].node, false))
			return false;
	for (uint32_t i = first, j = s->n_steps; i + 1 < j; i++) {
		struct step swap = s->steps[i];
		s->steps[i] = s->steps[--j];
		s->steps[j] = swap;
	}
	return true;
}

/* Whether the goal is reached by the way @at; then in *@alt what is next there. */
static bool is_goal(const struct settling *s, const struct pugmark_plan *plan, int at,
		    enum goal goal, uint32_t node, uint32_t node_func, uint32_t *alt)
{
	if (goal == GOAL_AFTER)
		return is_after(s, plan, at, node, node_func);
	*alt = reached(s, plan, &s->ways[at], goal, node, node_func);
	return *alt != PUGMARK_NONE;
}

/* Whether more than one way leads to @at. */
static bool is_torn(const struct settling *s, int at)
{
	for (; at >= 0; at = s->ways[at].from)
		if (s->ways[at].twice)
			return true;
	return s->too_many;
}

bool settle_find_way(struct settling *s, uint16_t module, struct way from, enum goal goal,
		     uint32_t node, uint32_t node_func, uint32_t *alt)
{
	const struct pugmark_plan *plan = s->p->plans[module];
	uint32_t other;
	int found = -1, n = 0;
	s->n_ways = 0;
	s->too_many = false;
	memset(s->table, 0, sizeof(s->table));
	add_way(s, from.decision, from.func, from.node, -1);
	for (int at = 0; at < s->n_ways; at++) {
		const struct pugmark_plan_decision *d = &plan->decisions[s->ways[at].decision];
		if (is_goal(s, plan, at, goal, node, node_func, found < 0 ? alt : &other)) {
			n++;
			found = found < 0 ? at : found;
		}
		for (uint32_t i = d->first; i < d->first + d->n; i++)
			if (plan->alternatives[i])
				add_next(s, module, plan->alternatives[i], at);
	}
	if (found < 0)
		return false;
	s->torn |= n > 1 || is_torn(s, found);
	return add_steps(s, found);
}
