// SPDX-License-Identifier: LGPL-2.1-or-later
/* graph_nodes.c: a node of a WET, when its path is executed for the first time: its statements, and
 * groups of their values; path_reads.h has what they read from outside. */
#include "offline/wet/graph/graph_impl.h"

#include <string.h>

enum { OTHER_INPUT = 63 };

/* What is known of each unit while a node's statements are looked at in order. */
struct looking {
	uint64_t inputs[WET_UNITS]; /* of the node, that its value depends on */
	bool written[WET_UNITS];    /* by a statement of the node */
	uint32_t n_inputs;
	uint64_t *value_inputs;
	uint32_t n_values;
};

static uint64_t new_input(struct looking *l)
{
	return (uint64_t)1 << (l->n_inputs < OTHER_INPUT ? l->n_inputs++ : OTHER_INPUT);
}

/* The inputs that what statement @d reads depends on become those of what it writes. */
static void look(struct looking *l, const struct dep_insn *d)
{
	struct dep_units reads = wet_insn_reads(d), writes = wet_insn_writes(d);
	uint64_t inputs = 0;
	for (unsigned u = 0; u < WET_UNITS; u++) {
		if (!(reads.w[u / 64] >> u % 64 & 1))
			continue;
		if (!l->written[u] && !l->inputs[u])
			l->inputs[u] = new_input(l);
		inputs |= l->inputs[u];
	}
	if (d->n_loads || d->string)
		inputs = new_input(l); /* what it reads is given from outside */
	for (unsigned u = 0; u < WET_UNITS; u++)
		if (writes.w[u / 64] >> u % 64 & 1) {
			l->inputs[u] = inputs;
			l->written[u] = true;
		}
	for (unsigned i = 0; i < d->n_results; i++)
		l->value_inputs[l->n_values++] = inputs;
}

/* Gives each value of the node its group. */
static bool make_groups(const struct wet_graph *g, struct wet_node *n, const struct looking *l)
{
	uint32_t *group = calloc(l->n_values + 1, sizeof(*group));
	n->order = calloc(l->n_values + 1, sizeof(*n->order));
	if (group && l->n_values)
		n->n_groups = wet_groups_form(l->value_inputs, l->n_values, group);
	n->groups = calloc(n->n_groups + 1, sizeof(*n->groups));
	bool fine = group && n->order && n->groups;
	uint32_t next = 0;
	for (uint32_t k = 0; fine && k < n->n_groups; k++)
		for (uint32_t i = 0; i < l->n_values; i++)
			if (group[i] == k) {
				n->order[next++] = i;
				n->groups[k].width++;
				n->groups[k].executed = g->executed;
			}
	if (!n->groups)
		n->n_groups = 0;
	free(group);
	return fine;
}

static bool room_for_stmts(struct wet_graph *g, uint32_t n)
{
	if (g->n_stmts + n <= g->room_stmts)
		return true;
	size_t room = 2 * g->room_stmts + n + 1024;
	uint32_t *node_of = realloc(g->node_of, room * sizeof(*node_of));
	g->node_of = node_of ? node_of : g->node_of;
	struct wet_stmt *stmts = realloc(g->stmts, room * sizeof(*stmts));
	g->stmts = stmts ? stmts : g->stmts;
	g->room_stmts = node_of && stmts ? room : g->room_stmts;
	return node_of && stmts;
}

static void look_at_all(struct wet_graph *g, struct looking *l, struct wet_node *n,
			const struct wet_step *steps, uint32_t n_blocks,
			struct wet_path_insn *insns)
{
	uint32_t s = 0;
	for (uint32_t i = 0; i < n_blocks; i++)
		for (unsigned k = 0; k < steps[i].block->n_insns; k++, s++) {
			const struct dep_insn *d = &steps[i].block->insns[k];
			const struct value_insn *insn = &steps[i].block->block->insns[k];
			look(l, d);
			insns[s] = (struct wet_path_insn){d, insn};
			g->stmts[n->first_stmt + s] = (struct wet_stmt){insn->ip, d->n_results};
			g->node_of[n->first_stmt + s] = n - g->nodes;
		}
}

bool wet_graph_make_node(struct wet_graph *g, struct wet_node *n, const struct wet_step *steps,
			 uint32_t n_blocks)
{
	struct looking *l = calloc(1, sizeof(*l));
	*n = (struct wet_node){.first_stmt = g->n_stmts};
	for (uint32_t i = 0; i < n_blocks; i++) {
		n->n_stmts += steps[i].block->n_insns;
		n->n_values += steps[i].block->n_results;
	}
	struct wet_path_insn *insns = calloc(n->n_stmts + (size_t)1, sizeof(*insns));
	if (l)
		l->value_inputs = calloc(n->n_values + 1, sizeof(*l->value_inputs));
	bool fine = l && l->value_inputs && insns && room_for_stmts(g, n->n_stmts);
	if (fine) {
		look_at_all(g, l, n, steps, n_blocks, insns);
		fine = make_groups(g, n, l) && wet_reads_make(insns, n->n_stmts, &n->reads);
	}
	if (fine) {
		n->load_edges = calloc(n->reads.n_loads + (size_t)1, sizeof(*n->load_edges));
		fine = n->load_edges;
	}
	if (fine)
		g->n_stmts += n->n_stmts;
	if (l)
		free(l->value_inputs);
	free(insns);
	free(l);
	return fine;
}
