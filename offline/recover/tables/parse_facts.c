// SPDX-License-Identifier: LGPL-2.1-or-later
/* parse_facts.c: see parse_facts.h. Each is one pass over the plan, or a few. */
#include "offline/recover/tables/parse_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where a tail jump out of @n's function goes: a function, or PUGMARK_NONE: out of what is known.
 */
static uint32_t jump_target(const struct pugmark_plan_node *n)
{
	bool named = n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_OPAQUE ||
		     (n->kind == PUGMARK_NODE_KIND_UNKNOWN && !n->import);
	return named ? n->callee : PUGMARK_NONE;
}

int parse_facts_outward(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	uint32_t n_tails = 0, *tails = malloc((plan->n_nodes + 1) * sizeof(*tails));
	if (!tails)
		return -ENOMEM;
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (plan->nodes[i].flags & PUGMARK_NODE_TAIL &&
		    plan->nodes[i].kind != PUGMARK_NODE_KIND_LEAF)
			tails[n_tails++] = i;
	for (uint32_t i = 0; i < plan->n_funcs; i++) {
		const struct pugmark_plan_func *f = &plan->funcs[i];
		bool shows = f->flags & PUGMARK_PLAN_FUNC_ENTERED && f->entry != PUGMARK_NONE;
		t->enterable[i] = f->flags & (PUGMARK_PLAN_FUNC_ENTERED |
					      PUGMARK_PLAN_FUNC_EXPORTED | PUGMARK_PLAN_FUNC_START);
		t->enterable_unseen[i] = t->enterable[i] && !shows;
	}
	bool grew = true;
	while (grew) {
		grew = false;
		for (uint32_t i = 0; i < n_tails; i++) {
			const struct pugmark_plan_node *n = &plan->nodes[tails[i]];
			uint32_t to = jump_target(n);
			if ((to == PUGMARK_NONE || t->jumps_out[to]) && !t->jumps_out[n->func])
				grew = t->jumps_out[n->func] = true;
			if (to != PUGMARK_NONE && t->enterable[n->func] && !t->enterable[to])
				grew = t->enterable[to] = true;
			if (to != PUGMARK_NONE && t->enterable_unseen[n->func] &&
			    !t->enterable_unseen[to])
				grew = t->enterable_unseen[to] = true;
		}
	}
	free(tails);
	return 0;
}

/* Whether the node keeps control in the plan, and comes back. */
static bool stays_inside(const struct parse_tables *t, const struct pugmark_plan_node *n)
{
	switch (n->kind) {
	case PUGMARK_NODE_KIND_CALL:
		return !(n->flags & (PUGMARK_NODE_NORETURN | PUGMARK_NODE_SWITCHES |
				     PUGMARK_NODE_IFUNC | PUGMARK_NODE_UNTOLD)) &&
		       t->stays_inside[n->callee];
	case PUGMARK_NODE_KIND_MARK:
	case PUGMARK_NODE_KIND_BRANCH:
	case PUGMARK_NODE_KIND_RETURN:
	case PUGMARK_NODE_KIND_BLOCK:
		return !(n->flags & PUGMARK_NODE_ROOT);
	default:
		return false;
	}
}

void parse_facts_inside(struct parse_tables *t)
{
	enum {
		NOT = PUGMARK_PLAN_FUNC_OPAQUE | PUGMARK_PLAN_FUNC_SWITCHES |
		      PUGMARK_PLAN_FUNC_LEAVES
	};
	const struct pugmark_plan *plan = t->plan;
	bool fell = true;
	for (uint32_t i = 0; i < plan->n_funcs; i++)
		t->stays_inside[i] =
			plan->funcs[i].entry != PUGMARK_NONE && !(plan->funcs[i].flags & NOT);
	while (fell) {
		fell = false;
		for (uint32_t i = 1; i < plan->n_nodes; i++) {
			const struct pugmark_plan_node *n = &plan->nodes[i];
			if (t->stays_inside[n->func] && !stays_inside(t, n))
				fell = !(t->stays_inside[n->func] = false);
		}
	}
}

/* The decisions behind node @n. */
static void doubt_after(struct parse_tables *t, const struct pugmark_plan_node *n)
{
	if (n->kind == PUGMARK_NODE_KIND_TARGET) {
		for (uint32_t i = 0; i < pugmark_node_n_targets(n); i++)
			if (pugmark_node_targets(t->plan, n)[i].decision != PUGMARK_NONE)
				t->unsure_decision[pugmark_node_targets(t->plan, n)[i].decision] =
					true;
		return;
	}
	if (pugmark_node_next(n) != PUGMARK_NONE)
		t->unsure_decision[pugmark_node_next(n)] = true;
	if (n->kind == PUGMARK_NODE_KIND_BRANCH && pugmark_node_taken(n) != PUGMARK_NONE)
		t->unsure_decision[pugmark_node_taken(n)] = true;
}

/* Whether events may fit two things because of it; others are gaps wherever they are met. */
static bool raises_doubt(const struct pugmark_plan_unresolved *u)
{
	bool at_node = u->kind == PUGMARK_UNRESOLVED_END || u->kind == PUGMARK_UNRESOLVED_FRAME ||
		       u->kind == PUGMARK_UNRESOLVED_LANDING;
	return u->kind == PUGMARK_UNRESOLVED_WAY || (at_node && u->node != PUGMARK_NONE);
}

/* What the unwinder enters as well, and what is silent leads to. */
static void doubt_roots(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	for (uint32_t i = 1; i < plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];
		if (n->site != PUGMARK_NONE || pugmark_node_next(n) == PUGMARK_NONE ||
		    n->kind == PUGMARK_NODE_KIND_OPAQUE)
			continue;
		const struct pugmark_plan_decision *d = &plan->decisions[pugmark_node_next(n)];
		for (uint32_t k = d->first; k < d->first + d->n; k++)
			t->unsure_root[plan->alternatives[k]] |=
				plan->nodes[plan->alternatives[k]].flags & PUGMARK_NODE_ROOT;
	}
}

/* From callees to callers. */
static void spread_hidden_frames(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t i = 1; i < plan->n_nodes; i++) {
			const struct pugmark_plan_node *n = &plan->nodes[i];
			if (n->kind == PUGMARK_NODE_KIND_CALL && t->hides_frames[n->callee] &&
			    !t->hides_frames[n->func])
				grew = t->hides_frames[n->func] = true;
		}
	}
}

int parse_facts_unsure(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	uint32_t n = plan->unresolved_at ? plan->unresolved : 0;
	bool doubt = false;
	for (uint32_t i = 0; i < n; i++)
		doubt |= raises_doubt(&plan->unresolved_at[i]);
	if (!doubt)
		return 0;
	t->unsure_decision = calloc(plan->n_decisions + 1, sizeof(bool));
	t->unsure_call = calloc(plan->n_nodes + 1, sizeof(bool));
	t->unsure_root = calloc(plan->n_nodes + 1, sizeof(bool));
	t->hides_frames = calloc(plan->n_funcs + 1, sizeof(bool));
	if (!t->unsure_decision || !t->unsure_call || !t->unsure_root || !t->hides_frames)
		return -ENOMEM;
	doubt_roots(t);
	for (uint32_t i = 0; i < n; i++) {
		const struct pugmark_plan_unresolved *u = &plan->unresolved_at[i];
		if (!raises_doubt(u) || u->kind == PUGMARK_UNRESOLVED_LANDING)
			continue;
		if (u->kind == PUGMARK_UNRESOLVED_FRAME)
			t->hides_frames[u->func] = true;
		if (u->kind != PUGMARK_UNRESOLVED_WAY)
			t->unsure_call[u->node] = true;
		else if (u->node != PUGMARK_NONE)
			doubt_after(t, &plan->nodes[u->node]);
		else if (plan->funcs[u->func].entry != PUGMARK_NONE)
			t->unsure_decision[plan->funcs[u->func].entry] = true;
	}
	spread_hidden_frames(t);
	return 0;
}

void parse_facts_go(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	for (uint32_t i = 0; i < plan->n_funcs && !t->go_runtime; i++)
		t->go_runtime = !strcmp(plan->strings + plan->funcs[i].name, "runtime.copystack");
}
