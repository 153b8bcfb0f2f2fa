// SPDX-License-Identifier: LGPL-2.1-or-later
/* parse_facts.c: see parse_facts.h. Each is one pass over the plan, or a few. */
#include "offline/parse_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where a tail jump out of @n's function goes: a function, or PUGMARK_NONE: out of what is known.
 */
static uint32_t jump_target(const struct plan_node *n)
{
	bool named = n->kind == NODE_KIND_CALL || n->kind == NODE_KIND_OPAQUE ||
		     (n->kind == NODE_KIND_UNKNOWN && !n->import);
	return named ? n->callee : PUGMARK_NONE;
}

int parse_facts_outward(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	uint32_t n_tails = 0, *tails = malloc((plan->n_nodes + 1) * sizeof(*tails));
	if (!tails)
		return -ENOMEM;
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (plan->nodes[i].flags & NODE_TAIL && plan->nodes[i].kind != NODE_KIND_LEAF)
			tails[n_tails++] = i;
	for (uint32_t i = 0; i < plan->n_funcs; i++) {
		const struct plan_func *f = &plan->funcs[i];
		bool shows = f->flags & PLAN_FUNC_ENTERED && f->entry != PUGMARK_NONE;
		t->enterable[i] =
			f->flags & (PLAN_FUNC_ENTERED | PLAN_FUNC_EXPORTED | PLAN_FUNC_START);
		t->enterable_unseen[i] = t->enterable[i] && !shows;
	}
	bool grew = true;
	while (grew) {
		grew = false;
		for (uint32_t i = 0; i < n_tails; i++) {
			const struct plan_node *n = &plan->nodes[tails[i]];
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

/* The decisions behind node @n. */
static void doubt_after(struct parse_tables *t, const struct plan_node *n)
{
	if (n->kind == NODE_KIND_TARGET) {
		for (uint32_t i = 0; i < n->next_taken; i++)
			if (t->plan->targets[n->next + i].decision != PUGMARK_NONE)
				t->unsure_decision[t->plan->targets[n->next + i].decision] = true;
		return;
	}
	if (n->next != PUGMARK_NONE)
		t->unsure_decision[n->next] = true;
	if (n->kind == NODE_KIND_BRANCH && n->next_taken != PUGMARK_NONE)
		t->unsure_decision[n->next_taken] = true;
}

int parse_facts_unsure(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	uint32_t n = plan->unresolved_at ? plan->unresolved : 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct plan_unresolved *u = &plan->unresolved_at[i];
		bool way = u->kind == UNRESOLVED_WAY;
		bool call = u->kind == UNRESOLVED_END || u->kind == UNRESOLVED_FRAME;
		if (!way && (!call || u->node == PUGMARK_NONE))
			continue;
		if (!t->unsure_call) {
			t->unsure_decision = calloc(plan->n_decisions + 1, sizeof(bool));
			t->unsure_call = calloc(plan->n_nodes + 1, sizeof(bool));
		}
		if (!t->unsure_decision || !t->unsure_call)
			return -ENOMEM;
		if (call)
			t->unsure_call[u->node] = true;
		else if (u->node != PUGMARK_NONE)
			doubt_after(t, &plan->nodes[u->node]);
		else if (plan->funcs[u->func].entry != PUGMARK_NONE)
			t->unsure_decision[plan->funcs[u->func].entry] = true;
	}
	return 0;
}

void parse_facts_go(struct parse_tables *t)
{
	const struct pugmark_plan *plan = t->plan;
	for (uint32_t i = 0; i < plan->n_funcs && !t->go_runtime; i++)
		t->go_runtime = !strcmp(plan->strings + plan->funcs[i].name, "runtime.copystack");
}
