// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check_first.c: which alternatives and functions can end in silence, and for each function
 * what its first event can be: least fixpoints over all functions. */
#include "offline/prove/plan_check_impl.h"

bool check_passes(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_NORETURN)
		return false;
	return n->kind != PUGMARK_NODE_KIND_CALL || ck->func_empty[n->callee];
}

static bool node_empty(const struct checker *ck, const struct pugmark_plan_node *n)
{
	if (!check_passes(ck, n))
		return false;
	return check_leaves(n) ||
	       (pugmark_node_next(n) != PUGMARK_NONE && ck->decision_empty[pugmark_node_next(n)]);
}

/* Finds what can run in silence to the end of its function: the least fixpoint. */
void check_find_empty(struct checker *ck)
{
	const struct pugmark_plan *plan = ck->plan;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t d = plan->n_decisions; d-- > 0;) {
			const struct pugmark_plan_decision *dec = &plan->decisions[d];
			for (uint32_t i = 0; i < dec->n && !ck->decision_empty[d]; i++)
				if (node_empty(ck,
					       check_node(ck, plan->alternatives[dec->first + i])))
					grew = ck->decision_empty[d] = true;
		}
		for (uint32_t f = 0; f < plan->n_funcs; f++) {
			uint32_t entry = plan->funcs[f].entry;
			/* What is not modelled shows nothing. */
			if (!ck->func_empty[f] &&
			    (entry == PUGMARK_NONE || ck->decision_empty[entry]))
				grew = ck->func_empty[f] = true;
		}
	}
}

void check_add(struct checker *ck, struct facts *set, struct fact fact)
{
	enum facts_added added = facts_add(set, fact);
	ck->failed |= added == FACTS_NO_MEMORY;
	ck->grew |= added == FACTS_GREW;
}

static void visit(struct checker *ck, uint32_t node)
{
	if (ck->seen[node] == ck->stamp)
		return;
	ck->seen[node] = ck->stamp;
	ck->stack[ck->n_stack++] = node;
}

void check_visit(struct checker *ck, uint32_t decision)
{
	if (decision == PUGMARK_NONE)
		return;
	const struct pugmark_plan_decision *d = &ck->plan->decisions[decision];
	for (uint32_t i = 0; i < d->n; i++)
		visit(ck, ck->plan->alternatives[d->first + i]);
}

/* What the call in @node shows first. */
static void first_of_call(struct checker *ck, uint32_t node, struct facts *out)
{
	const struct pugmark_plan_node *n = check_node(ck, node);
	bool tail = n->flags & PUGMARK_NODE_TAIL;
	if (n->kind == PUGMARK_NODE_KIND_UNKNOWN) {
		struct fact any = {SITE_ENTRY_OF_ANY, 0, RETURNS_LIKE_SELF, false, false};
		check_add(ck, out, tail ? any : fact_lifted(any, n->height, node));
	}
	if (n->kind != PUGMARK_NODE_KIND_CALL)
		return;
	const struct facts *callee = &ck->first[n->callee];
	for (uint32_t i = 0; i < callee->n; i++)
		check_add(ck, out,
			  tail ? callee->at[i] : fact_lifted(callee->at[i], n->height, node));
}

bool check_first(struct checker *ck, uint32_t node, struct facts *out)
{
	bool empty = false;
	ck->stamp++;
	ck->n_stack = 0;
	visit(ck, node);
	while (ck->n_stack) {
		uint32_t at = ck->stack[--ck->n_stack];
		const struct pugmark_plan_node *n = check_node(ck, at);
		if (n->site != PUGMARK_NONE) {
			check_add(ck, out,
				  (struct fact){n->site, 0, RETURNS_LIKE_SELF, false, false});
			continue;
		}
		first_of_call(ck, at, out);
		if (!check_passes(ck, n))
			continue;
		if (check_leaves(n))
			empty = true;
		else
			check_visit(ck, pugmark_node_next(n));
	}
	return empty;
}

void check_again(struct checker *ck, uint32_t func)
{
	if (ck->queued[func])
		return;
	ck->queued[func] = true;
	ck->queue[(ck->queue_head + ck->n_queue++) % ck->plan->n_funcs] = func;
}

bool check_next(struct checker *ck, uint32_t *func)
{
	if (!ck->n_queue || ck->failed)
		return false;
	*func = ck->queue[ck->queue_head];
	ck->queue_head = (ck->queue_head + 1) % ck->plan->n_funcs;
	ck->n_queue--;
	ck->queued[*func] = false;
	return true;
}

void check_find_first(struct checker *ck)
{
	const struct pugmark_plan *plan = ck->plan;
	uint32_t f;
	for (f = 0; f < plan->n_funcs; f++)
		check_again(ck, f);
	while (check_next(ck, &f)) {
		uint32_t entry = plan->funcs[f].entry;
		if (entry == PUGMARK_NONE)
			continue;
		ck->grew = false;
		for (uint32_t i = 0; i < plan->decisions[entry].n; i++)
			check_first(ck, plan->alternatives[plan->decisions[entry].first + i],
				    &ck->first[f]);
		if (!ck->grew)
			continue;
		for (uint32_t i = ck->caller_at[f]; i < ck->caller_at[f + 1]; i++)
			check_again(ck, check_node(ck, ck->callers[i])->func);
	}
}
