// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_check_fault.c: what happens to a fault that the check finds: it is reported, and counted
 * apart where the plan itself names the place as one where no probe can tell. */
#include "offline/prove/plan_check_impl.h"

#include <stdlib.h>

/* Whether it cannot be told at @decision which way was taken: behind the node that @u names, or
 * where its function begins. */
static bool is_way_at(const struct pugmark_plan *plan, const struct pugmark_plan_unresolved *u,
		      uint32_t decision)
{
	if (u->kind != PUGMARK_UNRESOLVED_WAY)
		return false;
	if (u->node == PUGMARK_NONE)
		return plan->funcs[u->func].entry == decision;
	const struct pugmark_plan_node *n = &plan->nodes[u->node];
	if (n->kind != PUGMARK_NODE_KIND_TARGET)
		return pugmark_node_next(n) == decision ||
		       (n->kind == PUGMARK_NODE_KIND_BRANCH && pugmark_node_taken(n) == decision);
	for (uint32_t i = 0; i < pugmark_node_n_targets(n); i++)
		if (pugmark_node_targets(plan, n)[i].decision == decision)
			return true;
	return false;
}

/* Whether an unresolved place @u that the plan names is one for what @fault is about. */
static bool names_fault(const struct pugmark_plan *plan, const struct pugmark_plan_unresolved *u,
			const struct plan_fault *fault)
{
	bool here = u->node != PUGMARK_NONE && u->node == fault->node;
	switch (fault->kind) {
	case FAULT_TABLES: /* of a probe */
	case FAULT_STOP:
		return here || u->kind == PUGMARK_UNRESOLVED_ENTRY;
	case FAULT_FOLLOW:
		return here;
	case FAULT_LOOP:
	case FAULT_RECURSION: /* several nodes have part in it: the plan may name any of them */
		return u->kind == PUGMARK_UNRESOLVED_ROUNDS || u->kind == PUGMARK_UNRESOLVED_WAY;
	case FAULT_SILENT:
	case FAULT_EVENT:
		return is_way_at(plan, u, fault->decision);
	default:
		return u->kind == PUGMARK_UNRESOLVED_WAY;
	}
}

static bool names_place(const struct pugmark_plan *plan, const struct plan_fault *fault)
{
	for (uint32_t i = 0; plan->unresolved_at && i < plan->unresolved; i++)
		if (plan->unresolved_at[i].func == fault->func &&
		    names_fault(plan, &plan->unresolved_at[i], fault))
			return true;
	return false;
}

/* The same for a jump: the plan may name the place in any function that this one may have jumped
 * to. */
static bool names_place_behind(struct checker *ck, const struct plan_fault *fault)
{
	const struct pugmark_plan *plan = ck->plan;
	bool *become = calloc(plan->n_funcs + 1, sizeof(*become)), named = false;
	if (!become) {
		ck->failed = true;
		return false;
	}
	become[fault->func] = true;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t i = 1; i < plan->n_nodes; i++) {
			const struct pugmark_plan_node *n = &plan->nodes[i];
			if (n->kind == PUGMARK_NODE_KIND_CALL && n->flags & PUGMARK_NODE_TAIL &&
			    become[n->func] && !become[n->callee])
				grew = become[n->callee] = true;
		}
	}
	for (uint32_t f = 0; f < plan->n_funcs && !named; f++) {
		struct plan_fault there = *fault;
		there.func = f;
		named = become[f] && names_place(plan, &there);
	}
	free(become);
	return named;
}

void check_fault(struct checker *ck, struct plan_fault fault)
{
	fault.told = fault.kind == FAULT_JUMP ? names_place_behind(ck, &fault)
					      : names_place(ck->plan, &fault);
	if (fault.told)
		ck->counts.told++;
	else
		ck->counts.faults++;
	if (ck->sink)
		ck->sink(ck->ctx, &fault);
}
