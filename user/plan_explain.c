// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_explain.c: one function of a plan as its grammar: what can follow what, which of it is
 * witnessed and why, and for each decision the first events of its alternatives. All of it is read
 * from the finished plan, by the same tables that recovery uses. */
#include "offline/parse_tables.h"
#include "user/cfg_names.h"
#include "user/plan_show.h"

#include <errno.h>
#include <stdlib.h>

enum { TERMS_SHOWN = 12 };

/* How the first events of two alternatives differ. */
enum told { TOLD_SITE, TOLD_DEPTH, TOLD_RET, TOLD_NOT, N_TOLD };
static const char *const told_names[] = {
	[TOLD_SITE] = "site",
	[TOLD_DEPTH] = "depth",
	[TOLD_RET] = "return address",
	[TOLD_NOT] = "nothing",
};

struct explainer {
	const struct plan_shown *s;
	struct out *out;
	const struct pugmark_plan *plan;
	const struct plan_func *func;
	struct parse_tables *tables;
	uint32_t *decisions, n; /* those of the function, its entry's first */
};

static uint32_t number_of(const struct explainer *x, uint32_t decision)
{
	uint32_t i = 0;
	while (i < x->n && x->decisions[i] != decision)
		i++;
	return i;
}

static void add(struct explainer *x, uint32_t decision)
{
	if (decision != PUGMARK_NONE && number_of(x, decision) == x->n)
		x->decisions[x->n++] = decision;
}

/* How many decisions follow @node, and the one at @way. */
static uint32_t n_ways(const struct plan_node *node)
{
	switch (node->kind) {
	case NODE_KIND_BRANCH:
		return 2;
	case NODE_KIND_TARGET:
		return node->next_taken;
	default:
		return node->next != PUGMARK_NONE;
	}
}

static uint32_t way(const struct explainer *x, const struct plan_node *node, uint32_t i)
{
	if (node->kind == NODE_KIND_TARGET)
		return x->plan->targets[node->next + i].decision;
	return i ? node->next_taken : node->next;
}

static int prepare(struct explainer *x, const struct plan_shown *s, uint32_t func)
{
	*x = (struct explainer){.s = s, .out = s->out, .plan = s->result->plan};
	x->func = &x->plan->funcs[func];
	uint64_t most = 1;
	for (uint32_t i = x->func->node; i < x->func->node + x->func->n_nodes; i++)
		most += n_ways(&x->plan->nodes[i]);
	x->decisions = calloc(most, sizeof(*x->decisions));
	int err = x->decisions ? parse_tables_new(x->plan, &x->tables) : -ENOMEM;
	if (err)
		return err;
	add(x, x->func->entry);
	for (uint32_t i = x->func->node; i < x->func->node + x->func->n_nodes; i++)
		for (uint32_t k = 0; k < n_ways(&x->plan->nodes[i]); k++)
			add(x, way(x, &x->plan->nodes[i], k));
	return 0;
}

static void finish(struct explainer *x)
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

/* Counts in @told how the pairs of terms of different alternatives differ; sites that differ are
 * the rule, and counted once. */
static void compare(const struct explainer *x, const struct decision_table *t, uint32_t *told)
{
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = i + 1; k < t->n; k++) {
			const struct first_entry *a = &t->entries[i], *b = &t->entries[k];
			/* by site, those of any entry last: nothing more can meet */
			if (a->site != b->site && a->site != FIRST_ANY_ENTRY && !t->n_any)
				break;
			if (a->alt != b->alt && may_meet(x, a, b))
				told[differ(a, b)]++;
		}
	if (x->plan->decisions && !told[TOLD_DEPTH] && !told[TOLD_RET] && !told[TOLD_NOT])
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

/* Why @node has a witness, the reasons joined. */
static void put_reasons(const struct explainer *x, uint32_t index)
{
	const struct plan_node *node = &x->plan->nodes[index];
	const char *const reasons[] = {
		parse_tables_entered_by(x->tables, node->site) != PUGMARK_NONE
			? "the function may be entered from outside"
			: NULL,
		node->flags & NODE_ROOT ? "entered by unwinding" : NULL,
		node->flags & NODE_CALLEE_CFA ? "called at an unknown stack height" : NULL,
		node->flags & NODE_NORETURN ? "does not return, so hardly ever runs" : NULL,
		node->kind == NODE_KIND_TARGET ? "where it jumps to is read" : NULL,
	};
	const char *comma = "";
	bool tell_more = false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i]) {
			out_format(x->out, "%s%s", comma, reasons[i]);
			comma = "; ";
		}
	for (uint32_t d = 0; d < x->n; d++)
		if (tells(x, x->decisions[d], node->site)) {
			out_format(x->out, "%s%u",
				   tell_more ? ", "
				   : *comma  ? "; tells decision "
					     : "tells decision ",
				   d);
			tell_more = true;
		}
	if (!tell_more && !*comma)
		out_text(x->out, "tells apart what callers do next, or shows each round of a loop");
}

/* ---- nodes in words ---- */

static const char *const node_names[] = {
	[NODE_KIND_EXIT] = "exit",     [NODE_KIND_CALL] = "call",     [NODE_KIND_UNKNOWN] = "call",
	[NODE_KIND_LEAF] = "call",     [NODE_KIND_MARK] = "block",    [NODE_KIND_BRANCH] = "branch",
	[NODE_KIND_RETURN] = "return", [NODE_KIND_TARGET] = "switch", [NODE_KIND_BLOCK] = "block",
	[NODE_KIND_OPAQUE] = "call",
};

static const char *kind_of(const struct plan_node *node)
{
	return node->flags & NODE_TAIL ? "tail" : node_names[node->kind];
}

static const char *callee_of(const struct explainer *x, const struct plan_node *node)
{
	bool opaque = node->kind == NODE_KIND_OPAQUE ||
		      (node->kind == NODE_KIND_UNKNOWN && !node->import);
	if (node->kind == NODE_KIND_CALL || (opaque && node->callee != PUGMARK_NONE))
		return x->plan->strings + x->plan->funcs[node->callee].name;
	if (node->import)
		return x->plan->strings + node->import;
	return opaque ? "(indirect)" : "";
}

static void put_node(const struct explainer *x, uint32_t index)
{
	const struct plan_node *node = &x->plan->nodes[index];
	if (!index) {
		out_text(x->out, "exit");
		return;
	}
	out_hex(x->out, node->addr);
	out_char(x->out, ' ');
	out_text(x->out, kind_of(node));
	if (*callee_of(x, node)) {
		out_char(x->out, ' ');
		out_safe_text(x->out, callee_of(x, node));
	}
}

static void put_term(const struct explainer *x, const struct first_entry *t)
{
	struct out *out = x->out;
	if (t->site == FIRST_ANY_ENTRY) {
		out_text(out, "any function entered from outside");
	} else {
		const struct plan_site *site = &x->plan->sites[t->site];
		out_hex(out, site->addr);
		if (&x->plan->funcs[site->func] != x->func) {
			out_text(out, " in ");
			out_safe_text(out, x->plan->strings + x->plan->funcs[site->func].name);
		}
	}
	if (t->depth == FIRST_DEPTH_UNKNOWN)
		out_text(out, ", frame unknown");
	else if (t->depth)
		out_format(out, ", frame %d below", t->depth);
	if (t->ret != FIRST_SELF) {
		out_text(out, ", called at ");
		out_hex(out, x->plan->nodes[t->ret].addr);
	}
}

/* ---- text ---- */

static void text_nodes(const struct explainer *x)
{
	out_text(x->out, "nodes\n");
	for (uint32_t i = x->func->node; i < x->func->node + x->func->n_nodes; i++) {
		const struct plan_node *node = &x->plan->nodes[i];
		out_text(x->out, "  ");
		put_node(x, i);
		for (uint32_t k = 0; k < n_ways(node); k++)
			out_format(x->out, "%s%u", k ? ", " : " -> decision ",
				   number_of(x, way(x, node, k)));
		out_char(x->out, '\n');
		if (node->site == PUGMARK_NONE)
			continue;
		const struct plan_site *site = &x->plan->sites[node->site];
		out_format(x->out, "    probe at %llx (%s, %s, reads ",
			   (unsigned long long)site->addr, plan_kind_names[site->kind],
			   cfg_probe_names[site->probe]);
		plan_put_captures(x->out, site);
		out_text(x->out, "): ");
		put_reasons(x, i);
		out_char(x->out, '\n');
	}
}

static void text_alternative(const struct explainer *x, const struct decision_table *t,
			     uint32_t alt)
{
	uint32_t shown = 0;
	out_text(x->out, "  -> ");
	put_node(x, alt);
	if (t->empty == alt)
		out_text(x->out, ", may be silent to the end");
	out_char(x->out, '\n');
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->entries[i].alt != alt || ++shown > TERMS_SHOWN)
			continue;
		out_text(x->out, "       first ");
		put_term(x, &t->entries[i]);
		out_char(x->out, '\n');
	}
	if (shown > TERMS_SHOWN)
		out_format(x->out, "       and %u more\n", shown - TERMS_SHOWN);
}

static int text_decision(const struct explainer *x, uint32_t number)
{
	const struct plan_decision *d = &x->plan->decisions[x->decisions[number]];
	const struct decision_table *t = parse_tables_at(x->tables, x->decisions[number]);
	uint32_t told[N_TOLD] = {0};
	if (!t)
		return -ENOMEM;
	out_format(x->out, "decision %u%s", number, number ? "" : ", at the entry");
	if (d->n > 1 && t->top) {
		out_text(x->out, ": too many first events to tell");
	} else if (d->n > 1) {
		const char *comma = ": told apart by ";
		compare(x, t, told);
		for (int i = 0; i < N_TOLD; i++)
			if (told[i]) {
				out_format(x->out, "%s%s", comma, told_names[i]);
				comma = ", ";
			}
		if (t->n_empty > 1)
			out_format(x->out, "; %u alternatives may be silent", t->n_empty);
	}
	out_char(x->out, '\n');
	for (uint32_t i = 0; i < d->n; i++)
		text_alternative(x, t, x->plan->alternatives[d->first + i]);
	return 0;
}

int plan_explain_text(const struct plan_shown *s, uint32_t func)
{
	struct explainer x;
	int err = prepare(&x, s, func);
	if (!err) {
		uint32_t sites = 0;
		for (uint32_t i = x.func->node; i < x.func->node + x.func->n_nodes; i++)
			sites += x.plan->nodes[i].site != PUGMARK_NONE;
		out_safe_text(x.out, x.plan->strings + x.func->name);
		out_format(x.out, " at %llx: %u nodes, %u probes, %u decisions%s%s\n",
			   (unsigned long long)x.func->addr, x.func->n_nodes, sites, x.n,
			   x.func->flags & PLAN_FUNC_ENTERED ? ", may be entered from outside" : "",
			   x.func->flags & PLAN_FUNC_OPAQUE ? ", not traced" : "");
		if (x.func->n_nodes)
			text_nodes(&x);
	}
	for (uint32_t i = 0; i < x.n && !err; i++)
		err = text_decision(&x, i);
	finish(&x);
	return err;
}

/* ---- JSON ---- */

static void json_node(const struct explainer *x, uint32_t index)
{
	const struct plan_node *node = &x->plan->nodes[index];
	struct out *out = x->out;
	out_format(out, "{\"node\":%u,\"address\":\"%llx\",\"kind\":\"%s\"", index,
		   (unsigned long long)node->addr, kind_of(node));
	if (*callee_of(x, node)) {
		out_text(out, ",\"callee\":\"");
		out_json_text(out, callee_of(x, node));
		out_char(out, '"');
	}
	out_text(out, ",\"next\":[");
	for (uint32_t k = 0; k < n_ways(node); k++)
		out_format(out, "%s%u", k ? "," : "", number_of(x, way(x, node, k)));
	out_char(out, ']');
	if (node->site != PUGMARK_NONE) {
		const struct plan_site *site = &x->plan->sites[node->site];
		out_format(out,
			   ",\"probe\":{\"address\":\"%llx\",\"kind\":\"%s\",\"class\":\"%s\","
			   "\"captures\":\"",
			   (unsigned long long)site->addr, plan_kind_names[site->kind],
			   cfg_probe_names[site->probe]);
		plan_put_captures(out, site);
		out_text(out, "\",\"why\":\"");
		put_reasons(x, index);
		out_text(out, "\"}");
	}
	out_char(out, '}');
}

static void json_term(const struct explainer *x, const struct first_entry *t)
{
	struct out *out = x->out;
	if (t->site == FIRST_ANY_ENTRY)
		out_text(out, "{\"site\":null");
	else
		out_format(out, "{\"site\":\"%llx\"",
			   (unsigned long long)x->plan->sites[t->site].addr);
	if (t->depth == FIRST_DEPTH_UNKNOWN)
		out_text(out, ",\"depth\":null");
	else
		out_format(out, ",\"depth\":%d", t->depth);
	if (t->ret != FIRST_SELF)
		out_format(out, ",\"called_at\":\"%llx\"",
			   (unsigned long long)x->plan->nodes[t->ret].addr);
	out_char(out, '}');
}

static int json_decision(const struct explainer *x, uint32_t number)
{
	const struct plan_decision *d = &x->plan->decisions[x->decisions[number]];
	const struct decision_table *t = parse_tables_at(x->tables, x->decisions[number]);
	uint32_t told[N_TOLD] = {0};
	struct out *out = x->out;
	const char *comma = "";
	if (!t)
		return -ENOMEM;
	out_format(out, "{\"decision\":%u,\"bounded\":%s,\"told_apart_by\":[", number,
		   t->top ? "false" : "true");
	if (d->n > 1 && !t->top)
		compare(x, t, told);
	for (int i = 0; i < N_TOLD; i++)
		if (told[i]) {
			out_format(out, "%s\"%s\"", comma, told_names[i]);
			comma = ",";
		}
	out_text(out, "],\"alternatives\":[");
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t alt = x->plan->alternatives[d->first + i];
		out_format(out, "%s{\"node\":", i ? "," : "");
		if (alt)
			out_dec(out, alt);
		else
			out_text(out, "\"exit\"");
		out_format(out, ",\"silent\":%s,\"first\":[", t->empty == alt ? "true" : "false");
		comma = "";
		for (uint32_t k = 0; k < t->n; k++)
			if (t->entries[k].alt == alt) {
				out_text(out, comma);
				json_term(x, &t->entries[k]);
				comma = ",";
			}
		out_text(out, "]}");
	}
	out_text(out, "]}");
	return 0;
}

int plan_explain_json(const struct plan_shown *s, uint32_t func)
{
	struct explainer x;
	int err = prepare(&x, s, func);
	if (!err) {
		out_text(x.out, "{\"function\":\"");
		out_json_text(x.out, x.plan->strings + x.func->name);
		out_format(x.out, "\",\"address\":\"%llx\",\"entered\":%s,\"nodes\":[\n",
			   (unsigned long long)x.func->addr,
			   x.func->flags & PLAN_FUNC_ENTERED ? "true" : "false");
		for (uint32_t i = 0; i < x.func->n_nodes; i++) {
			out_text(x.out, i ? ",\n" : "");
			json_node(&x, x.func->node + i);
		}
		out_text(x.out, "],\"decisions\":[\n");
	}
	for (uint32_t i = 0; i < x.n && !err; i++) {
		out_text(x.out, i ? ",\n" : "");
		err = json_decision(&x, i);
	}
	out_text(x.out, err ? "" : "]}\n");
	finish(&x);
	return err;
}

/* ---- Graphviz ---- */

static void dot_text(struct out *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			out_char(out, '\\');
		out_char(out, *text);
	}
}

static void dot_edges(const struct explainer *x, const char *from, uint32_t decision,
		      const char *label)
{
	if (decision == PUGMARK_NONE)
		return;
	const struct plan_decision *d = &x->plan->decisions[decision];
	for (uint32_t i = 0; i < d->n; i++)
		out_format(x->out, "\t%s -> n%u%s%s%s;\n", from,
			   x->plan->alternatives[d->first + i], *label ? " [label=\"" : "", label,
			   *label ? "\"]" : "");
}

int plan_explain_dot(const struct plan_shown *s, uint32_t func)
{
	struct explainer x;
	int err = prepare(&x, s, func);
	if (!err) {
		out_text(x.out, "digraph \"");
		dot_text(x.out, x.plan->strings + x.func->name);
		out_text(x.out, "\" {\n\tnode [shape=box, fontname=monospace];\n"
				"\tentry [shape=oval];\n\tn0 [label=exit, shape=oval];\n");
		dot_edges(&x, "entry", x.func->entry, "");
	}
	for (uint32_t i = 0; i < x.func->n_nodes && !err; i++) {
		uint32_t index = x.func->node + i;
		const struct plan_node *node = &x.plan->nodes[index];
		char from[16];
		snprintf(from, sizeof(from), "n%u", index);
		out_format(x.out, "\t%s [label=\"%llx %s ", from, (unsigned long long)node->addr,
			   kind_of(node));
		dot_text(x.out, callee_of(&x, node));
		if (node->site != PUGMARK_NONE) {
			out_format(x.out, "\\nprobe %llx\", style=filled, tooltip=\"",
				   (unsigned long long)x.plan->sites[node->site].addr);
			put_reasons(&x, index);
		}
		out_text(x.out, "\"];\n");
		for (uint32_t k = 0; k < n_ways(node); k++)
			dot_edges(&x, from, way(&x, node, k),
				  node->kind != NODE_KIND_BRANCH ? ""
				  : k				 ? "taken"
								 : "not taken");
	}
	out_text(x.out, err ? "" : "}\n");
	finish(&x);
	return err;
}
