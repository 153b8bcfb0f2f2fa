// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_explain_text.c: one function of a plan for a person to read. */
#include "user/plan/plan_explain.h"
#include "user/model/cfg_names.h"

#include <errno.h>

enum { TERMS_SHOWN = 12 };

static void put_node(const struct explainer *x, uint32_t index)
{
	const struct pugmark_plan_node *node = &x->plan->nodes[index];
	if (!index) {
		outbuf_text(x->out, "exit");
		return;
	}
	outbuf_hex(x->out, node->addr);
	outbuf_char(x->out, ' ');
	outbuf_text(x->out, explainer_kind_of(node));
	if (*explainer_callee_of(x, node)) {
		outbuf_char(x->out, ' ');
		outbuf_safe_text(x->out, explainer_callee_of(x, node));
	}
}

static void put_term(const struct explainer *x, const struct first_entry *t)
{
	struct outbuf *out = x->out;
	if (t->site == FIRST_ANY_ENTRY) {
		outbuf_text(out, "any function entered from outside");
	} else {
		const struct pugmark_plan_site *site = &x->plan->sites[t->site];
		outbuf_hex(out, site->addr);
		if (&x->plan->funcs[site->func] != x->func) {
			outbuf_text(out, " in ");
			outbuf_safe_text(out, x->plan->strings + x->plan->funcs[site->func].name);
		}
	}
	if (t->depth == FIRST_DEPTH_UNKNOWN)
		outbuf_text(out, ", frame unknown");
	else if (t->depth)
		outbuf_format(out, ", frame %d below", t->depth);
	if (t->ret != FIRST_SELF) {
		outbuf_text(out, ", called at ");
		outbuf_hex(out, x->plan->nodes[t->ret].addr);
	}
}
static void text_nodes(const struct explainer *x)
{
	outbuf_text(x->out, "nodes\n");
	for (uint32_t i = x->func->node; i < x->func->node + x->func->n_nodes; i++) {
		const struct pugmark_plan_node *node = &x->plan->nodes[i];
		outbuf_text(x->out, "  ");
		put_node(x, i);
		for (uint32_t k = 0; k < explainer_n_ways(node); k++)
			outbuf_format(x->out, "%s%u", k ? ", " : " -> decision ",
				      explainer_number_of(x, explainer_way(x, node, k)));
		outbuf_char(x->out, '\n');
		if (node->site == PUGMARK_NONE)
			continue;
		const struct pugmark_plan_site *site = &x->plan->sites[node->site];
		outbuf_format(x->out, "    probe at %llx (%s, %s, reads ",
			      (unsigned long long)site->addr, plan_kind_names[site->kind],
			      cfg_probe_names[site->probe]);
		plan_put_captures(x->out, site);
		outbuf_text(x->out, "): ");
		explainer_put_reasons(x, i);
		outbuf_char(x->out, '\n');
	}
}

static void text_alternative(const struct explainer *x, const struct decision_table *t,
			     uint32_t alt)
{
	uint32_t shown = 0;
	outbuf_text(x->out, "  -> ");
	put_node(x, alt);
	if (t->empty == alt)
		outbuf_text(x->out, ", may be silent to the end");
	outbuf_char(x->out, '\n');
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->entries[i].alt != alt || ++shown > TERMS_SHOWN)
			continue;
		outbuf_text(x->out, "       first ");
		put_term(x, &t->entries[i]);
		outbuf_char(x->out, '\n');
	}
	if (shown > TERMS_SHOWN)
		outbuf_format(x->out, "       and %u more\n", shown - TERMS_SHOWN);
}

static int text_decision(const struct explainer *x, uint32_t number)
{
	const struct pugmark_plan_decision *d = &x->plan->decisions[x->decisions[number]];
	const struct decision_table *t = parse_tables_at(x->tables, x->decisions[number]);
	uint32_t told[N_TOLD] = {0};
	if (!t)
		return -ENOMEM;
	outbuf_format(x->out, "decision %u%s", number, number ? "" : ", at the entry");
	if (d->n > 1 && t->top) {
		outbuf_text(x->out, ": too many first events to tell");
	} else if (d->n > 1) {
		const char *comma = ": told apart by ";
		explainer_compare(x, t, told);
		for (int i = 0; i < N_TOLD; i++)
			if (told[i]) {
				outbuf_format(x->out, "%s%s", comma, explainer_told_names[i]);
				comma = ", ";
			}
		if (t->n_empty > 1)
			outbuf_format(x->out, "; %u alternatives may be silent", t->n_empty);
	}
	outbuf_char(x->out, '\n');
	for (uint32_t i = 0; i < d->n; i++)
		text_alternative(x, t, x->plan->alternatives[d->first + i]);
	return 0;
}

int plan_explain_text(const struct plan_shown *s, uint32_t func)
{
	struct explainer x;
	int err = explainer_init(&x, s, func);
	if (!err) {
		uint32_t sites = 0;
		for (uint32_t i = x.func->node; i < x.func->node + x.func->n_nodes; i++)
			sites += x.plan->nodes[i].site != PUGMARK_NONE;
		outbuf_safe_text(x.out, x.plan->strings + x.func->name);
		outbuf_format(x.out, " at %llx: %u nodes, %u probes, %u decisions%s%s\n",
			      (unsigned long long)x.func->addr, x.func->n_nodes, sites, x.n,
			      x.func->flags & PUGMARK_PLAN_FUNC_ENTERED
				      ? ", may be entered from outside"
				      : "",
			      x.func->flags & PUGMARK_PLAN_FUNC_OPAQUE ? ", not traced" : "");
		if (x.func->n_nodes)
			text_nodes(&x);
	}
	for (uint32_t i = 0; i < x.n && !err; i++)
		err = text_decision(&x, i);
	explainer_deinit(&x);
	return err;
}
