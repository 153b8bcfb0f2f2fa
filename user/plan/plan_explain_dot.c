// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_explain_dot.c: the call-site graph of one function of a plan, for Graphviz. */
#include "user/plan/plan_explain.h"

#include <stdio.h>

static void dot_text(struct outbuf *out, const char *text)
{
	out_printable(out, text, PRINT_DOT);
}

static void dot_edges(const struct explainer *x, const char *from, uint32_t decision,
		      const char *label)
{
	if (decision == PUGMARK_NONE)
		return;
	const struct pugmark_plan_decision *d = &x->plan->decisions[decision];
	for (uint32_t i = 0; i < d->n; i++)
		outbuf_format(x->out, "\t%s -> n%u%s%s%s;\n", from,
			      x->plan->alternatives[d->first + i], *label ? " [label=\"" : "",
			      label, *label ? "\"]" : "");
}

int plan_explain_dot(const struct plan_shown *s, uint32_t func)
{
	struct explainer x;
	int err = explainer_init(&x, s, func);
	if (!err) {
		outbuf_text(x.out, "digraph \"");
		dot_text(x.out, x.plan->strings + x.func->name);
		outbuf_text(x.out, "\" {\n\tnode [shape=box, fontname=monospace];\n"
				   "\tentry [shape=oval];\n\tn0 [label=exit, shape=oval];\n");
		dot_edges(&x, "entry", x.func->entry, "");
	}
	for (uint32_t i = 0; i < x.func->n_nodes && !err; i++) {
		uint32_t index = x.func->node + i;
		const struct pugmark_plan_node *node = &x.plan->nodes[index];
		char from[16];
		snprintf(from, sizeof(from), "n%u", index);
		outbuf_format(x.out, "\t%s [label=\"%llx %s ", from, (unsigned long long)node->addr,
			      explainer_kind_of(node));
		dot_text(x.out, explainer_callee_of(&x, node));
		if (node->site != PUGMARK_NONE) {
			outbuf_format(x.out, "\\nprobe %llx\", style=filled, tooltip=\"",
				      (unsigned long long)x.plan->sites[node->site].addr);
			explainer_put_reasons(&x, index);
		}
		outbuf_text(x.out, "\"];\n");
		for (uint32_t k = 0; k < explainer_n_ways(node); k++)
			dot_edges(&x, from, explainer_way(&x, node, k),
				  node->kind != PUGMARK_NODE_KIND_BRANCH ? ""
				  : k					 ? "taken"
									 : "not taken");
	}
	outbuf_text(x.out, err ? "" : "}\n");
	explainer_deinit(&x);
	return err;
}
