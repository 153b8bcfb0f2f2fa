// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_write.c: begins the format, and goes over an automaton, a grammar or a graph for the
 * formats, which say what each part of it is (struct encode_parts). */
#include "user/encode/encode.h"

void encode_begin(struct encode *e)
{
	if (!e->begun && e->format->begin)
		e->format->begin(e);
	e->begun = true;
}

void encode_write_automaton(struct encode *e, const char *name, const struct fsa *fsa)
{
	const struct encode_parts *parts = e->format->parts;
	if (!parts) {
		e->format->automaton(e, name, fsa);
		return;
	}
	parts->automaton(e, name, fsa);
	for (uint32_t q = 0; q < fsa->n_states; q++) {
		uint32_t first = fsa->first[q], n = fsa->first[q + 1] - first;
		parts->state(e, fsa, q);
		for (uint32_t i = 0; i < n; i++)
			parts->arc(e, i, &fsa->arcs[first + i]);
		if (parts->state_end)
			parts->state_end(e, fsa, q);
	}
	if (parts->automaton_end)
		parts->automaton_end(e);
}

/* Of a part that may be nothing. */
static void write_edge(struct encode *e, void (*edge)(struct encode *e, bool begin), bool begin)
{
	if (edge)
		edge(e, begin);
}

static void write_rule(struct encode *e, const struct grammar *g, struct grammar_rule rule)
{
	for (uint32_t i = 0; i < rule.n; i++) {
		const struct grammar_item *item = &g->items[rule.first + i];
		e->format->parts->item(e, i, item->symbol,
				       item->count == GRAMMAR_MANY ? 0 : item->count);
	}
}

static void write_rules(struct encode *e, const struct grammar *g)
{
	const struct encode_parts *parts = e->format->parts;
	write_edge(e, parts->rules, true);
	for (uint32_t i = 0; i < g->n_rules; i++) {
		uint32_t rule = parts->backwards ? g->n_rules - 1 - i : i;
		parts->rule(e, rule);
		write_rule(e, g, g->rules[rule]);
		parts->rule_end(e);
	}
	write_edge(e, parts->rules, false);
}

void encode_write_grammar(struct encode *e, const struct grammar *g)
{
	for (uint32_t i = 0; i < e->sequences.n; i++) {
		const struct encode_sequence *s = &e->sequences.at[i];
		e->format->sequence(e, s);
		write_rule(e, g, g->sequences[s->in_grammar]);
		e->format->sequence_end(e, s);
	}
	write_rules(e, g);
}

/* The callees of a node or root: its list, or what @g has at @sequence. */
static void write_callees(struct encode *e, const struct dag *dag, uint32_t first, uint32_t n,
			  const struct grammar *g, uint32_t sequence)
{
	uint32_t n_items;
	const struct dag_item *at = dag_items(dag, &n_items) + first;
	if (g) {
		write_rule(e, g, g->sequences[sequence]);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		e->format->parts->callee(e, i, at[i].node,
					 at[i].count == DAG_MANY ? 0 : at[i].count);
}

void encode_write_graph(struct encode *e, const struct dag *dag, const struct grammar *g)
{
	const struct encode_parts *parts = e->format->parts;
	uint32_t n_nodes, n_roots;
	const struct dag_node *nodes = dag_nodes(dag, &n_nodes);
	const struct dag_root *roots = dag_roots(dag, &n_roots);
	write_edge(e, parts->sequences, true);
	for (uint32_t i = 0; i < n_roots; i++) {
		e->format->sequence(e, &e->sequences.at[i]);
		write_callees(e, dag, roots[i].first, roots[i].n, g, n_nodes + i);
		e->format->sequence_end(e, &e->sequences.at[i]);
	}
	write_edge(e, parts->sequences, false);
	if (parts->nodes)
		parts->nodes(e, dag, true);
	for (uint32_t i = 0; i < n_nodes; i++) {
		uint32_t index = parts->backwards ? n_nodes - 1 - i : i;
		const struct dag_node *node = &nodes[index];
		parts->node(e, index, node);
		write_callees(e, dag, node->first, node->n, g, index);
		parts->node_end(e, node);
	}
	if (parts->nodes)
		parts->nodes(e, dag, false);
	if (g)
		write_rules(e, g);
}
