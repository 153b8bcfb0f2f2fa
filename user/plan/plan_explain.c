// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_explain.c: what there is to tell of one function of a plan, for the formats: its decisions,
 * what tells the alternatives of each apart, and why a node has a witness. All of it is read from
 * the finished plan, by the same tables that recovery uses. */
#include "user/plan/plan_explain.h"

#include <errno.h>
#include <stdlib.h>

const char *const explainer_told_names[] = {
	[TOLD_SITE] = "site",
	[TOLD_DEPTH] = "depth",
	[TOLD_RET] = "return address",
	[TOLD_NOT] = "nothing",
};

uint32_t explainer_number_of(const struct explainer *x, uint32_t decision)
{
	uint32_t i = 0;
	while (i < x->n && x->decisions[i] != decision)
		i++;
	return i;
}

static void add(struct explainer *x, uint32_t decision)
{
	if (decision != PUGMARK_NONE && explainer_number_of(x, decision) == x->n)
		x->decisions[x->n++] = decision;
}

uint32_t explainer_n_ways(const struct pugmark_plan_node *node)
{
	switch (node->kind) {
	case PUGMARK_NODE_KIND_BRANCH:
		return 2;
	case PUGMARK_NODE_KIND_TARGET:
		return pugmark_node_n_targets(node);
	default:
		return pugmark_node_next(node) != PUGMARK_NONE;
	}
}

uint32_t explainer_way(const struct explainer *x, const struct pugmark_plan_node *node, uint32_t i)
{
	if (node->kind == PUGMARK_NODE_KIND_TARGET)
		return pugmark_node_targets(x->plan, node)[i].decision;
	return i ? pugmark_node_taken(node) : pugmark_node_next(node);
}

int explainer_init(struct explainer *x, const struct plan_shown *s, uint32_t func)
{
	*x = (struct explainer){.out = s->out, .plan = s->result->plan};
	x->func = &x->plan->funcs[func];
	uint64_t most = 1;
	for (uint32_t i = x->func->node; i < x->func->node + x->func->n_nodes; i++)
		most += explainer_n_ways(&x->plan->nodes[i]);
	x->decisions = calloc(most, sizeof(*x->decisions));
	int err = x->decisions ? parse_tables_new(x->plan, &x->tables) : -ENOMEM;
	if (err)
		return err;
	add(x, x->func->entry);
	for (uint32_t i = x->func->node; i < x->func->node + x->func->n_nodes; i++)
		for (uint32_t k = 0; k < explainer_n_ways(&x->plan->nodes[i]); k++)
			add(x, explainer_way(x, &x->plan->nodes[i], k));
	return 0;
}

void explainer_deinit(struct explainer *x)
{
	parse_tables_free(x->tables);
	free(x->decisions);
}

/* ---- what is told apart by what ---- */

static enum told differ(const struct first_entry *a, const struct first_entry *b)
{
	bool any = a->site == FIRST_ANY_ENTRY || b->site == FIRST_ANY_ENTRY;
	if (a->site != b->site && !any)
		return TOLD_SITE;
	if (a->depth != FIRST_DEPTH_UNKNOWN && b->depth != FIRST_DEPTH_UNKNOWN &&
	    a->depth != b->depth)
		return TOLD_DEPTH;
	return a->ret != b->ret && a->ret != FIRST_SELF && b->ret != FIRST_SELF ? TOLD_RET
										: TOLD_NOT;
}

/* Whether the entry of @entry's kind can be the event of the other's site. */
static bool may_meet(const struct explainer *x, const struct first_entry *a,
		     const struct first_entry *b)
{
	if (a->site == b->site)
		return true;
	if (a->site == FIRST_ANY_ENTRY)
		return parse_tables_entered_by(x->tables, b->site) != PUGMARK_NONE;
	return b->site == FIRST_ANY_ENTRY &&
	       parse_tables_entered_by(x->tables, a->site) != PUGMARK_NONE;
}

void explainer_compare(const struct explainer *x, const struct decision_table *t, uint32_t *told)
{
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = i + 1; k < t->n; k++) {
			const struct first_entry *a = &t->entries[i], *b = &t->entries[k];
			/* sorted by site, entries of any function last: nothing further on can
			 * meet */
			if (a->site != b->site && a->site != FIRST_ANY_ENTRY && !t->n_any)
				break;
			if (a->alt != b->alt && may_meet(x, a, b))
				told[differ(a, b)]++;
		}
	if (!told[TOLD_DEPTH] && !told[TOLD_RET] && !told[TOLD_NOT])
		told[TOLD_SITE] = 1;
}

/* Whether @site can be the first event of one of several alternatives of @decision. */
static bool tells(const struct explainer *x, uint32_t decision, uint32_t site)
{
	const struct decision_table *t =
		x->plan->decisions[decision].n > 1 ? parse_tables_at(x->tables, decision) : NULL;
	for (uint32_t i = 0; t && i < t->n; i++)
		if (t->entries[i].site == site)
			return true;
	return false;
}

void explainer_put_reasons(const struct explainer *x, uint32_t index)
{
	const struct pugmark_plan_node *node = &x->plan->nodes[index];
	const char *const reasons[] = {
		parse_tables_entered_by(x->tables, node->site) != PUGMARK_NONE
			? "the function may be entered from outside"
			: NULL,
		node->flags & PUGMARK_NODE_ROOT ? "entered by unwinding" : NULL,
		node->flags & PUGMARK_NODE_CALLEE_CFA ? "called at an unknown stack height" : NULL,
		node->flags & PUGMARK_NODE_NORETURN ? "does not return, so hardly ever runs" : NULL,
		node->kind == PUGMARK_NODE_KIND_TARGET ? "where it jumps to is read" : NULL,
	};
	const char *comma = "";
	bool tell_more = false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i]) {
			outbuf_format(x->out, "%s%s", comma, reasons[i]);
			comma = "; ";
		}
	for (uint32_t d = 0; d < x->n; d++)
		if (tells(x, x->decisions[d], node->site)) {
			outbuf_format(x->out, "%s%u",
				      tell_more ? ", "
				      : *comma	? "; tells decision "
						: "tells decision ",
				      d);
			tell_more = true;
		}
	if (!tell_more && !*comma)
		outbuf_text(x->out,
			    "tells apart what callers do next, or shows each round of a loop");
}

/* ---- nodes in words ---- */

static const char *const node_names[] = {
	[PUGMARK_NODE_KIND_EXIT] = "exit",     [PUGMARK_NODE_KIND_CALL] = "call",
	[PUGMARK_NODE_KIND_UNKNOWN] = "call",  [PUGMARK_NODE_KIND_LEAF] = "call",
	[PUGMARK_NODE_KIND_MARK] = "block",    [PUGMARK_NODE_KIND_BRANCH] = "branch",
	[PUGMARK_NODE_KIND_RETURN] = "return", [PUGMARK_NODE_KIND_TARGET] = "switch",
	[PUGMARK_NODE_KIND_BLOCK] = "block",   [PUGMARK_NODE_KIND_OPAQUE] = "call",
};

const char *explainer_kind_of(const struct pugmark_plan_node *node)
{
	return node->flags & PUGMARK_NODE_TAIL ? "tail" : node_names[node->kind];
}

const char *explainer_callee_of(const struct explainer *x, const struct pugmark_plan_node *node)
{
	bool opaque = node->kind == PUGMARK_NODE_KIND_OPAQUE ||
		      (node->kind == PUGMARK_NODE_KIND_UNKNOWN && !node->import);
	if (node->kind == PUGMARK_NODE_KIND_CALL || (opaque && node->callee != PUGMARK_NONE))
		return x->plan->strings + x->plan->funcs[node->callee].name;
	if (node->import)
		return x->plan->strings + node->import;
	return opaque ? "(indirect)" : "";
}
