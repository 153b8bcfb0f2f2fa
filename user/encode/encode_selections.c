// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_selections.c: what is made of the call tree: strings of calls and brackets, strings of
 * calls alone, a graph, or for each function the sequences of what it called. */
#include "user/encode/encode_lanes.h"
#include "user/encode/encode_tables.h"

#include <errno.h>
#include <stdlib.h>

/* ---- strings, and calls on a class ---- */

/* One sequence at a time: the last one. */
static uint32_t last_sequence(const struct encode *e)
{
	return e->sequences.n - 1;
}

static int string_begin(void *ctx, const struct tree_place *place)
{
	uint32_t index;
	return encode_sequence_begin(ctx, place, NULL, &index);
}

static int string_open(void *ctx, const struct tree_call *call)
{
	return encode_sequence_put(ctx, last_sequence(ctx), &call->symbol, 1);
}

static int string_close(void *ctx, const struct tree_return *ret)
{
	return encode_sequence_put(ctx, last_sequence(ctx), &ret->token, 1);
}

static int no_close(void *ctx, const struct tree_return *ret)
{
	(void)ctx, (void)ret;
	return 0;
}

static int string_end(void *ctx, enum tree_edge why)
{
	return encode_sequence_end(ctx, last_sequence(ctx), why);
}

/* ---- the graph ---- */

static int graph_begin(void *ctx, const struct tree_place *place)
{
	struct encode *e = ctx;
	if (!VEC_PUSH(&e->sequences, (struct encode_sequence){.place = *place}))
		return -ENOMEM;
	return dag_begin(e->dag);
}

static int graph_open(void *ctx, const struct tree_call *call)
{
	return dag_open(((struct encode *)ctx)->dag, call);
}

static int graph_close(void *ctx, const struct tree_return *ret)
{
	return dag_close(((struct encode *)ctx)->dag, ret);
}

static int graph_end(void *ctx, enum tree_edge why)
{
	struct encode *e = ctx;
	e->sequences.at[e->sequences.n - 1].ends = why;
	return dag_end(e->dag);
}

/* The lists of callees as sequences of one grammar. A callee called many times in a row is one
 * symbol there: struct encode's runs say which. */
struct run_table {
	uint32_t *slots; /* run + 1, or 0 */
	uint32_t mask;
};

static uint32_t hash_item(struct dag_item item)
{
	return (uint32_t)((item.node * UINT64_C(0x9e3779b97f4a7c15)) >> 32) ^
	       (item.count * 0x85ebca6bu);
}

static int run_symbol(struct encode *e, struct run_table *t, struct dag_item item, uint32_t *out)
{
	uint32_t i = hash_item(item) & t->mask;
	for (; t->slots[i]; i = (i + 1) & t->mask) {
		struct dag_item known = e->runs.at[t->slots[i] - 1];
		if (known.node == item.node && known.count == item.count)
			break;
	}
	if (!t->slots[i]) {
		if (!VEC_PUSH(&e->runs, item))
			return -ENOMEM;
		t->slots[i] = e->runs.n;
	}
	*out = SYMBOL_FIRST + t->slots[i] - 1;
	return 0;
}

static int put_callees(struct encode *e, struct run_table *t, uint32_t first, uint32_t n)
{
	uint32_t sequence, n_items, symbol;
	const struct dag_item *items = dag_items(e->dag, &n_items);
	int err = sequitur_begin(e->sequitur, &sequence);
	for (uint32_t i = first; i < first + n && !err; i++) {
		err = run_symbol(e, t, items[i], &symbol);
		if (!err)
			err = sequitur_put(e->sequitur, sequence, &symbol, 1);
	}
	return err;
}

static int write_graph_grammar(struct encode *e)
{
	uint32_t n_nodes, n_roots, n_items;
	const struct dag_node *nodes = dag_nodes(e->dag, &n_nodes);
	const struct dag_root *roots = dag_roots(e->dag, &n_roots);
	struct run_table t = {.mask = 255};
	struct grammar *g = NULL;
	dag_items(e->dag, &n_items);
	while (t.mask / 2 < n_items)
		t.mask = 2 * t.mask + 1;
	t.slots = calloc((size_t)t.mask + 1, sizeof(*t.slots));
	int err = t.slots ? sequitur_new(false, &e->sequitur) : -ENOMEM;
	for (uint32_t i = 0; i < n_nodes && !err; i++)
		err = put_callees(e, &t, nodes[i].first, nodes[i].n);
	for (uint32_t i = 0; i < n_roots && !err; i++)
		err = put_callees(e, &t, roots[i].first, roots[i].n);
	if (!err)
		err = encode_grammar(e, &g);
	if (!err)
		encode_write_graph(e, e->dag, g);
	grammar_free(g);
	free(t.slots);
	return err;
}

/* ---- what each function called ---- */

static int callees_begin(void *ctx, const struct tree_place *place)
{
	(void)place;
	((struct encode *)ctx)->frames.n = 0;
	return 0;
}

static int automaton_of(struct encode *e, uint32_t name, uint32_t *out)
{
	while (e->automata.n <= name)
		if (!VEC_PUSH(&e->automata, 0))
			return -ENOMEM;
	if (!e->automata.at[name]) {
		uint32_t added;
		int err = fsa_builder_add(e->fsa, &added);
		if (err || !VEC_PUSH(&e->titles, symbols_name(e->symbols, name)))
			return -ENOMEM;
		e->automata.at[name] = added + 1;
	}
	*out = e->automata.at[name] - 1;
	return 0;
}

static int callees_open(void *ctx, const struct tree_call *call)
{
	struct encode *e = ctx;
	uint32_t automaton;
	int err = 0;
	if (e->frames.n && symbol_how(call->symbol) != HOW_SIGNAL) /* that comes when it comes */
		err = fsa_put(e->fsa, &e->frames.at[e->frames.n - 1], call->symbol);
	if (!err)
		err = automaton_of(e, symbol_name_index(call->symbol), &automaton);
	if (err || !VEC_RESERVE(&e->frames, 1))
		return -ENOMEM;
	fsa_begin(&e->frames.at[e->frames.n++], automaton, 1);
	return 0;
}

static int callees_close(void *ctx, const struct tree_return *ret)
{
	struct encode *e = ctx;
	return fsa_end(e->fsa, &e->frames.at[--e->frames.n], ret->token == TOKEN_RETURN);
}

static int callees_end(void *ctx, enum tree_edge why)
{
	(void)ctx, (void)why;
	return 0;
}

/* ---- all of them ---- */

int encode_selection_init(struct encode *e, struct tree_sink *sink)
{
	static const struct tree_sink sinks[N_SELECTIONS] = {
		[SELECT_STRINGS] = {NULL, string_begin, string_open, string_close, string_end,
				    NULL},
		[SELECT_FACE] = {NULL, string_begin, string_open, no_close, string_end, NULL},
		[SELECT_DAG] = {NULL, graph_begin, graph_open, graph_close, graph_end, NULL},
		[SELECT_CALLEES] = {NULL, callees_begin, callees_open, callees_close, callees_end,
				    NULL},
	};
	if (encode_is_table(e))
		return encode_tables_init(e, sink);
	*sink = sinks[e->selection];
	sink->ctx = e;
	if (e->selection == SELECT_OBJECT && encode_objects_new(e))
		return -ENOMEM;
	if (e->selection == SELECT_DAG)
		return dag_new(e->encoding == ENCODE_RLE ? e->k : 0, &e->dag);
	return encode_sequences_init(e);
}

int encode_selection_finish(struct encode *e)
{
	if (encode_is_table(e))
		return encode_tables_finish(e);
	if (e->selection != SELECT_DAG)
		return encode_sequences_finish(e);
	if (e->encoding == ENCODE_GRAMMAR || e->encoding == ENCODE_GRAMMAR_RLE)
		return write_graph_grammar(e);
	if (e->format->parts)
		encode_write_graph(e, e->dag, NULL);
	else
		e->format->dag(e, e->dag);
	return 0;
}
