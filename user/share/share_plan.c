// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_plan.c: see share_plan.h. The proof and the merge number a function's nodes from its first
 * one: a decision that led to another function's would have a number past their end. */
#include "user/share/share_plan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct check {
	const struct pugmark_plan *plan;
	const struct pugmark_plan_func *func;
	const struct pugmark_plan_func **seen; /* per decision: whose it was the last time */
};

static bool stays(struct check *c, uint32_t decision)
{
	if (decision == PUGMARK_NONE || c->seen[decision] == c->func)
		return true;
	const struct pugmark_plan_decision *d = &c->plan->decisions[decision];
	c->seen[decision] = c->func;
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t node = c->plan->alternatives[d->first + i];
		if (node && node - c->func->node >= c->func->n_nodes)
			return false;
	}
	return true;
}

static bool node_stays(struct check *c, const struct pugmark_plan_node *n)
{
	bool holds = true;
	switch (n->kind) {
	case PUGMARK_NODE_KIND_TARGET:
		for (uint32_t i = 0; i < pugmark_node_n_targets(n) && holds; i++)
			holds = stays(c, pugmark_node_targets(c->plan, n)[i].decision);
		return holds;
	case PUGMARK_NODE_KIND_BRANCH:
		return stays(c, pugmark_node_next(n)) && stays(c, pugmark_node_taken(n));
	default:
		return stays(c, pugmark_node_next(n));
	}
}

int share_plan_check(const struct pugmark_plan *plan, const char *name, struct pugmark_diag *diag)
{
	struct check c = {.plan = plan,
			  .seen = calloc((size_t)plan->n_decisions + 1, sizeof(*c.seen))};
	bool holds = true;
	if (!c.seen)
		return pugmark_diag_set(diag, -ENOMEM, name, PUGMARK_NO_OFFSET, "out of memory");
	for (uint32_t i = 0; i < plan->n_funcs && holds; i++) {
		c.func = &plan->funcs[i];
		holds = stays(&c, c.func->entry);
		/* Node 0 is the exit of all of them. */
		for (uint32_t k = 0; k < c.func->n_nodes && holds; k++)
			holds = !(c.func->node + k) ||
				node_stays(&c, &plan->nodes[c.func->node + k]);
	}
	free(c.seen);
	return holds ? 0
		     : pugmark_diag_set(diag, -EBADMSG, name, PUGMARK_NO_OFFSET,
					"damaged: a function goes on in another one (plan again)");
}
