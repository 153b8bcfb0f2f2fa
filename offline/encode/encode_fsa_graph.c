// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_fsa_graph.c: see encode_fsa_graph.h. Merged states point to the one that they became
 * (union-find); what the table of arcs holds of them is dropped when it grows. */
#include "offline/encode/encode_fsa_graph.h"

#include "offline/base/hash.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

int graph_init(struct fsa_graph *g)
{
	*g = (struct fsa_graph){.mask = FIRST_SLOTS - 1};
	g->slots = calloc(FIRST_SLOTS, sizeof(*g->slots));
	if (g->slots && VEC_PUSH(&g->arcs, (struct graph_arc){0}))
		return 0;
	graph_deinit(g);
	return -ENOMEM;
}

void graph_deinit(struct fsa_graph *g)
{
	VEC_FREE(&g->states);
	VEC_FREE(&g->arcs);
	VEC_FREE(&g->merging);
	free(g->slots);
	g->slots = NULL;
}

size_t graph_bytes(const struct fsa_graph *g)
{
	return g->states.max * sizeof(struct graph_state) + g->arcs.max * sizeof(struct graph_arc) +
	       ((size_t)g->mask + 1) * sizeof(*g->slots);
}

int graph_add_state(struct fsa_graph *g, uint32_t *state)
{
	uint32_t number = g->states.n;
	if (!VEC_PUSH(&g->states, (struct graph_state){.parent = number}))
		return -ENOMEM;
	*state = number;
	return 0;
}

uint32_t graph_find(const struct fsa_graph *g, uint32_t state)
{
	struct graph_state *states = g->states.at;
	while (states[state].parent != state) {
		states[state].parent = states[states[state].parent].parent;
		state = states[state].parent;
	}
	return state;
}

static uint32_t *slot_of(const struct fsa_graph *g, uint32_t from, uint32_t symbol)
{
	uint32_t i = (uint32_t)hash_pair(from, symbol) & g->mask;
	for (; g->slots[i]; i = (i + 1) & g->mask) {
		const struct graph_arc *arc = &g->arcs.at[g->slots[i]];
		if (arc->from == from && arc->symbol == symbol)
			break;
	}
	return &g->slots[i];
}

uint32_t graph_arc(const struct fsa_graph *g, uint32_t from, uint32_t symbol)
{
	return *slot_of(g, from, symbol);
}

/* Another table, with the arcs that are still looked up. */
static int rebuild(struct fsa_graph *g)
{
	uint32_t live = 0, mask = g->mask;
	for (uint32_t i = 0; i < g->states.n; i++)
		live += g->states.at[i].parent == i ? g->states.at[i].n_arcs : 0;
	while (mask / 4 < live)
		mask = 2 * mask + 1;
	uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(g->slots);
	g->slots = slots;
	g->mask = mask;
	g->entered = live;
	for (uint32_t i = 0; i < g->states.n; i++)
		for (uint32_t a = g->states.at[i].parent == i ? g->states.at[i].first_arc : 0; a;
		     a = g->arcs.at[a].next)
			*slot_of(g, i, g->arcs.at[a].symbol) = a;
	return 0;
}

/* Makes @arc one of those of @from. */
static int enter_arc(struct fsa_graph *g, uint32_t from, uint32_t arc)
{
	struct graph_state *state = &g->states.at[from];
	g->arcs.at[arc].from = from;
	g->arcs.at[arc].next = state->first_arc;
	state->first_arc = arc;
	state->n_arcs++;
	*slot_of(g, from, g->arcs.at[arc].symbol) = arc;
	return ++g->entered > g->mask / 2 ? rebuild(g) : 0;
}

int graph_add_arc(struct fsa_graph *g, uint32_t from, uint32_t symbol, uint32_t to, uint64_t count)
{
	if (!VEC_PUSH(&g->arcs, (struct graph_arc){.symbol = symbol, .to = to, .count = count}))
		return -ENOMEM;
	return enter_arc(g, from, g->arcs.n - 1);
}

static int want_merged(struct fsa_graph *g, uint32_t a, uint32_t b)
{
	return VEC_PUSH(&g->merging, (struct graph_pair){a, b}) ? 0 : -ENOMEM;
}

/* State @from becomes @into: its arcs are those of @into, or ask for more to be merged. */
static int absorb(struct fsa_graph *g, uint32_t into, uint32_t from)
{
	struct graph_state *to = &g->states.at[into], *gone = &g->states.at[from];
	gone->parent = into;
	to->ends |= gone->ends;
	to->accepted += gone->accepted;
	to->cut += gone->cut;
	for (uint32_t arc = gone->first_arc, next; arc; arc = next) {
		next = g->arcs.at[arc].next;
		uint32_t there = graph_arc(g, into, g->arcs.at[arc].symbol);
		int err;
		if (there) {
			g->arcs.at[there].count += g->arcs.at[arc].count;
			err = want_merged(g, g->arcs.at[there].to, g->arcs.at[arc].to);
		} else {
			err = enter_arc(g, into, arc);
		}
		if (err)
			return err;
	}
	return 0;
}

int graph_merge(struct fsa_graph *g, uint32_t a, uint32_t b)
{
	int err = want_merged(g, a, b);
	while (!err && g->merging.n) {
		struct graph_pair p = g->merging.at[--g->merging.n];
		p = (struct graph_pair){graph_find(g, p.a), graph_find(g, p.b)};
		if (p.a == p.b)
			continue;
		if (g->states.at[p.a].n_arcs < g->states.at[p.b].n_arcs)
			p = (struct graph_pair){p.b, p.a};
		err = absorb(g, p.a, p.b);
	}
	g->merging.n = 0;
	return err;
}

static int by_symbol(const void *a, const void *b)
{
	const struct graph_arc *x = a, *y = b;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

int graph_sorted_arcs(const struct fsa_graph *g, uint32_t from, struct graph_arcs *out)
{
	out->n = 0;
	for (uint32_t arc = g->states.at[from].first_arc; arc; arc = g->arcs.at[arc].next)
		if (!VEC_PUSH(out, g->arcs.at[arc]))
			return -ENOMEM;
	if (out->n > 1)
		qsort(out->at, out->n, sizeof(*out->at), by_symbol);
	return 0;
}
