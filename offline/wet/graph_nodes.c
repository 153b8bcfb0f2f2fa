// SPDX-License-Identifier: LGPL-2.1-or-later
/* graph_nodes.c: a node of a WET, when its path is executed for the first time: its statements,
 * what they read from outside, and groups of their values. */
#include "offline/wet/graph_impl.h"

#include <string.h>

enum { OTHER_INPUT = 63 };

/* What is known of each unit while a node's statements are looked at in order. */
struct looking {
	uint64_t inputs[WET_UNITS]; /* of the node, that its value depends on */
	uint16_t stmt[WET_UNITS];   /* 1 + the statement that has written it; 0: none here */
	uint32_t n_inputs;
	uint64_t *value_inputs;
	uint32_t n_values;
	VEC(struct wet_outer) outer;
	bool no_memory;
};

static uint64_t new_input(struct looking *l)
{
	return (uint64_t)1 << (l->n_inputs < OTHER_INPUT ? l->n_inputs++ : OTHER_INPUT);
}

static struct dep_units all_reads(const struct dep_insn *d)
{
	struct dep_units u = d->data;
	dep_units_add(&u, &d->address);
	dep_units_add(&u, &d->moves_by);
	return u;
}

/* Statement @s reads its registers: the inputs that they depend on; edges are noted. */
static uint64_t look_at_reads(struct looking *l, struct wet_node *n, const struct dep_units *reads,
			      uint16_t s)
{
	uint64_t inputs = 0;
	uint16_t before = 0;
	for (unsigned u = 0; u < WET_UNITS; u++) {
		if (!(reads->w[u / 64] >> u % 64 & 1))
			continue;
		if (!l->stmt[u] && !l->inputs[u])
			l->inputs[u] = new_input(l);
		inputs |= l->inputs[u];
		if (l->stmt[u]) {
			n->n_inner += l->stmt[u] != before;
			before = l->stmt[u];
		} else if (!VEC_PUSH(&l->outer, (struct wet_outer){s, u, 1, 0})) {
			l->no_memory = true;
		}
	}
	return inputs;
}

static void look(struct looking *l, struct wet_node *n, const struct dep_insn *d, uint16_t s)
{
	struct dep_units reads = all_reads(d), writes = d->writes;
	uint64_t inputs = look_at_reads(l, n, &reads, s);
	if (d->n_loads || d->string)
		inputs = new_input(l); /* what it reads is given from outside */
	dep_units_add(&writes, &d->moved);
	for (unsigned u = 0; u < WET_UNITS; u++)
		if (writes.w[u / 64] >> u % 64 & 1) {
			l->inputs[u] = inputs;
			l->stmt[u] = s + 1;
		}
	for (unsigned i = 0; i < d->n_results; i++)
		l->value_inputs[l->n_values++] = inputs;
}

/* Gives each value of the node its group. */
static bool make_groups(struct wet_node *n, const struct looking *l)
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
			}
	if (!n->groups)
		n->n_groups = 0;
	free(group);
	return fine;
}

/* Of the outer registers, from which on how many are alike. */
static void find_runs(struct wet_outer *outer, uint32_t n)
{
	for (uint32_t i = n; i-- > 1;)
		if (outer[i - 1].stmt == outer[i].stmt && outer[i - 1].unit + 1 == outer[i].unit)
			outer[i - 1].run = outer[i].run + 1;
}

static void list_last(struct wet_node *n, const uint16_t *stmt)
{
	for (unsigned u = 0; u < WET_UNITS; u++) {
		struct wet_last *last = n->n_last ? &n->last[n->n_last - 1] : NULL;
		if (!stmt[u])
			continue;
		if (last && last->stmt == stmt[u] - 1 && last->unit + last->run == u)
			last->run++;
		else
			n->last[n->n_last++] = (struct wet_last){u, 1, stmt[u] - 1};
	}
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

/* Returns how many loads an execution has. */
static uint32_t look_at_all(struct wet_graph *g, struct looking *l, struct wet_node *n,
			    const struct wet_step *steps, uint32_t n_blocks)
{
	uint32_t s = 0, n_loads = 0;
	for (uint32_t i = 0; i < n_blocks; i++)
		for (unsigned k = 0; k < steps[i].block->n_insns; k++, s++) {
			const struct dep_insn *d = &steps[i].block->insns[k];
			look(l, n, d, s);
			n_loads += d->n_loads;
			if (d->n_loads || d->n_stores || d->string)
				n->accesses[n->n_accesses++] =
					(struct wet_access){s, d->n_loads, d->n_stores, d->string};
			g->stmts[n->first_stmt + s] =
				(struct wet_stmt){steps[i].block->block->insns[k].ip, d->n_results};
			g->node_of[n->first_stmt + s] = n - g->nodes;
		}
	return n_loads;
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
	n->accesses = malloc((n->n_stmts + 1) * sizeof(*n->accesses));
	n->last = malloc(WET_UNITS * sizeof(*n->last));
	if (l)
		l->value_inputs = calloc(n->n_values + 1, sizeof(*l->value_inputs));
	bool fine = l && l->value_inputs && n->accesses && n->last && room_for_stmts(g, n->n_stmts);
	if (fine) {
		uint32_t n_loads = look_at_all(g, l, n, steps, n_blocks);
		n->load_edges = calloc(n_loads + 1, sizeof(*n->load_edges));
		fine = make_groups(n, l) && n->load_edges && !l->no_memory;
	}
	if (fine) {
		g->n_stmts += n->n_stmts;
		n->outer = l->outer.at;
		n->n_outer = l->outer.n;
		l->outer.at = NULL;
		find_runs(n->outer, n->n_outer);
		list_last(n, l->stmt);
	}
	if (l) {
		free(l->value_inputs);
		free(l->outer.at);
	}
	free(l);
	return fine;
}
