// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_fsa.c: see encode_fsa.h. The automata share one graph, and one table that says which state
 * a tail stands for. A symbol is handled once the k symbols after it are known, so that the state
 * it leads to is the one which their tail stands for. */
#include "offline/encode/encode_fsa.h"

#include "offline/base/hash.h"
#include "offline/base/search.h"
#include "offline/encode/encode_fsa_graph.h"

#include <errno.h>
#include <string.h>

#define END 0xfffffffeu /* what follows the last symbol, for ever */

enum { FIRST_SLOTS = 1024 };

struct tail {
	uint32_t state, automaton;
};

struct fsa_builder {
	uint32_t k;
	bool loops;
	struct fsa_graph graph;
	VEC(uint32_t) starts; /* per automaton */
	VEC(struct tail) tails;
	VEC(uint32_t) words; /* k per tail */
	uint32_t *slots;     /* tail + 1, or 0 */
	uint32_t mask;
};

int fsa_builder_new(uint32_t k, bool loops, struct fsa_builder **out)
{
	struct fsa_builder *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->k = k;
	b->loops = loops;
	b->mask = FIRST_SLOTS - 1;
	b->slots = calloc(FIRST_SLOTS, sizeof(*b->slots));
	if (!b->slots || graph_init(&b->graph)) {
		free(b->slots);
		free(b);
		return -ENOMEM;
	}
	*out = b;
	return 0;
}

void fsa_builder_free(struct fsa_builder *b)
{
	if (!b)
		return;
	graph_deinit(&b->graph);
	VEC_FREE(&b->starts);
	VEC_FREE(&b->tails);
	VEC_FREE(&b->words);
	free(b->slots);
	free(b);
}

size_t fsa_builder_bytes(const struct fsa_builder *b)
{
	return graph_bytes(&b->graph) + b->starts.max * sizeof(uint32_t) +
	       b->tails.max * sizeof(struct tail) + b->words.max * sizeof(uint32_t) +
	       ((size_t)b->mask + 1) * sizeof(*b->slots);
}

int fsa_builder_add(struct fsa_builder *b, uint32_t *automaton)
{
	uint32_t start;
	int err = graph_add_state(&b->graph, &start);
	if (err || !VEC_PUSH(&b->starts, start))
		return -ENOMEM;
	*automaton = b->starts.n - 1;
	return 0;
}

/* ---- tails ---- */

static uint32_t *tail_slot(const struct fsa_builder *b, uint32_t automaton, const uint32_t *tail)
{
	uint64_t h = automaton;
	for (uint32_t i = 0; i < b->k; i++)
		h = hash_more(h, tail[i]);
	uint32_t i = (uint32_t)h & b->mask;
	for (; b->slots[i]; i = (i + 1) & b->mask) {
		uint32_t t = b->slots[i] - 1;
		if (b->tails.at[t].automaton == automaton &&
		    !memcmp(b->words.at + (size_t)t * b->k, tail, b->k * sizeof(*tail)))
			break;
	}
	return &b->slots[i];
}

static int rebuild(struct fsa_builder *b)
{
	uint32_t mask = 2 * b->mask + 1;
	uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(b->slots);
	b->slots = slots;
	b->mask = mask;
	for (uint32_t t = 0; t < b->tails.n; t++)
		*tail_slot(b, b->tails.at[t].automaton, b->words.at + (size_t)t * b->k) = t + 1;
	return 0;
}

/* @tail stands for @state from now on. */
static int add_tail(struct fsa_builder *b, uint32_t automaton, const uint32_t *tail, uint32_t state)
{
	if (!VEC_RESERVE(&b->words, b->k) || !VEC_PUSH(&b->tails, (struct tail){state, automaton}))
		return -ENOMEM;
	memcpy(b->words.at + b->words.n, tail, b->k * sizeof(*tail));
	b->words.n += b->k;
	*tail_slot(b, automaton, tail) = b->tails.n;
	return b->tails.n > b->mask / 2 ? rebuild(b) : 0;
}

/* ---- sequences ---- */

void fsa_begin(struct fsa_cursor *c, uint32_t automaton, uint64_t weight)
{
	*c = (struct fsa_cursor){
		.automaton = automaton, .state = FSA_NONE, .last = FSA_NONE, .weight = weight};
}

/* Enters the start state; @tail: the first k symbols; NULL: not known. */
static int enter_start(struct fsa_builder *b, struct fsa_cursor *c, const uint32_t *tail)
{
	c->state = b->starts.at[c->automaton];
	uint32_t slot = tail ? *tail_slot(b, c->automaton, tail) : 0;
	if (tail && !slot)
		return add_tail(b, c->automaton, tail, c->state);
	return slot ? graph_merge(&b->graph, b->tails.at[slot - 1].state, c->state) : 0;
}

/* Follows @symbol to a state that need not have a certain tail. */
static int step_anywhere(struct fsa_builder *b, struct fsa_cursor *c, uint32_t symbol)
{
	struct fsa_graph *g = &b->graph;
	uint32_t from = graph_find(g, c->state), arc = graph_arc(g, from, symbol), to = from;
	int err = 0;
	if (arc) {
		g->arcs.at[arc].count += c->weight;
		to = g->arcs.at[arc].to;
	} else {
		if (!b->loops || c->last != symbol)
			err = graph_add_state(g, &to);
		if (!err)
			err = graph_add_arc(g, from, symbol, to, c->weight);
	}
	c->state = to;
	c->last = symbol;
	return err;
}

/* Follows @symbol to the state from which @tail, the next k symbols, can be seen. */
static int step(struct fsa_builder *b, struct fsa_cursor *c, uint32_t symbol, const uint32_t *tail)
{
	struct fsa_graph *g = &b->graph;
	uint32_t slot = *tail_slot(b, c->automaton, tail);
	if (!slot) {
		int err = step_anywhere(b, c, symbol);
		return err ? err : add_tail(b, c->automaton, tail, c->state);
	}
	uint32_t from = graph_find(g, c->state), to = b->tails.at[slot - 1].state;
	uint32_t arc = graph_arc(g, from, symbol);
	c->state = to;
	c->last = symbol;
	if (!arc)
		return graph_add_arc(g, from, symbol, to, c->weight);
	g->arcs.at[arc].count += c->weight;
	uint32_t leads = g->arcs.at[arc].to;
	return graph_find(g, leads) == graph_find(g, to) ? 0 : graph_merge(g, leads, to);
}

/* Takes the first of the symbols that wait, @tail being what follows it (NULL: not known). */
static int take_first(struct fsa_builder *b, struct fsa_cursor *c, const uint32_t *tail)
{
	uint32_t symbol = c->pending[0];
	int err = tail ? step(b, c, symbol, tail) : step_anywhere(b, c, symbol);
	c->n_pending--;
	for (uint32_t i = 0; i < c->n_pending; i++)
		c->pending[i] = c->pending[i + 1];
	return err;
}

int fsa_put(struct fsa_builder *b, struct fsa_cursor *c, uint32_t symbol)
{
	c->pending[c->n_pending++] = symbol;
	if (c->n_pending > b->k)
		return take_first(b, c, c->pending + 1);
	return c->n_pending == b->k && c->state == FSA_NONE ? enter_start(b, c, c->pending) : 0;
}

/* The tails of the last states are not known. */
static int end_cut(struct fsa_builder *b, struct fsa_cursor *c)
{
	int err = c->state == FSA_NONE ? enter_start(b, c, NULL) : 0;
	while (!err && c->n_pending)
		err = take_first(b, c, NULL);
	if (!err)
		b->graph.states.at[graph_find(&b->graph, c->state)].cut += c->weight;
	return err;
}

static int end_whole(struct fsa_builder *b, struct fsa_cursor *c)
{
	uint32_t rest[2 * FSA_MAX_K + 1];
	int err = 0;
	for (uint32_t i = 0; i < 2 * FSA_MAX_K + 1; i++)
		rest[i] = i < c->n_pending ? c->pending[i] : END;
	if (c->state == FSA_NONE)
		err = enter_start(b, c, rest);
	for (uint32_t i = 1; !err && c->n_pending; i++)
		err = take_first(b, c, rest + i);
	if (err)
		return err;
	struct graph_state *last = &b->graph.states.at[graph_find(&b->graph, c->state)];
	last->accepted += c->weight;
	last->ends = true;
	return 0;
}

int fsa_end(struct fsa_builder *b, struct fsa_cursor *c, bool whole)
{
	if (!whole)
		return end_cut(b, c);
	if (c->state != FSA_NONE || c->n_pending)
		return end_whole(b, c);
	b->graph.states.at[graph_find(&b->graph, b->starts.at[c->automaton])].accepted += c->weight;
	return 0;
}

/* ---- the result ---- */

/* Copies the part of @from that can be reached from @start, which becomes state 0; by breadth, each
 * state's arcs in the order of their symbols. */
static int copy_reachable(const struct fsa_graph *from, uint32_t start, struct fsa_graph *to)
{
	uint32_t *number = malloc((from->states.n + 1) * sizeof(*number)), state;
	VEC(uint32_t) order = {0};
	struct graph_arcs arcs = {0};
	int err = number ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < from->states.n; i++)
		number[i] = FSA_NONE;
	start = graph_find(from, start);
	if (!err) {
		number[start] = 0;
		err = graph_add_state(to, &state) || !VEC_PUSH(&order, start) ? -ENOMEM : 0;
	}
	for (uint32_t i = 0; !err && i < order.n; i++) {
		const struct graph_state *s = &from->states.at[order.at[i]];
		to->states.at[i].accepted = s->accepted;
		to->states.at[i].cut = s->cut;
		to->states.at[i].ends = s->ends;
		err = graph_sorted_arcs(from, order.at[i], &arcs);
		for (uint32_t k = 0; !err && k < arcs.n; k++) {
			uint32_t *there = &number[graph_find(from, arcs.at[k].to)];
			if (*there == FSA_NONE) {
				err = graph_add_state(to, there);
				if (!err && !VEC_PUSH(&order, graph_find(from, arcs.at[k].to)))
					err = -ENOMEM;
			}
			if (!err)
				err = graph_add_arc(to, i, arcs.at[k].symbol, *there,
						    arcs.at[k].count);
		}
	}
	free(number);
	VEC_FREE(&order);
	VEC_FREE(&arcs);
	return err;
}

/* @g in the form that it is handed out in; its arcs lie in order, as copy_reachable() left them. */
static int export(const struct fsa_graph *g, struct fsa **out)
{
	struct fsa *fsa = calloc(1, sizeof(*fsa));
	if (!fsa)
		return -ENOMEM;
	fsa->n_states = g->states.n;
	fsa->n_arcs = g->arcs.n - 1;
	fsa->first = calloc((size_t)fsa->n_states + 1, sizeof(*fsa->first));
	fsa->arcs = malloc(((size_t)fsa->n_arcs + 1) * sizeof(*fsa->arcs));
	fsa->accepted = malloc((size_t)fsa->n_states * sizeof(*fsa->accepted));
	fsa->cut = malloc((size_t)fsa->n_states * sizeof(*fsa->cut));
	if (!fsa->first || !fsa->arcs || !fsa->accepted || !fsa->cut) {
		fsa_free(fsa);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < fsa->n_arcs; i++) {
		const struct graph_arc *arc = &g->arcs.at[i + 1];
		fsa->arcs[i] = (struct fsa_arc){arc->symbol, arc->to, arc->count};
		fsa->first[arc->from + 1] = i + 1;
	}
	for (uint32_t q = 0; q < fsa->n_states; q++) {
		if (!g->states.at[q].n_arcs)
			fsa->first[q + 1] = fsa->first[q];
		fsa->accepted[q] = g->states.at[q].accepted;
		fsa->cut[q] = g->states.at[q].cut;
	}
	*out = fsa;
	return 0;
}

/* @graph becomes the part of itself that can still be reached, with merged states gone. */
static int compact(struct fsa_graph *graph)
{
	struct fsa_graph copy;
	int err = graph_init(&copy);
	if (!err)
		err = copy_reachable(graph, 0, &copy);
	if (err) {
		graph_deinit(&copy);
		return err;
	}
	graph_deinit(graph);
	*graph = copy;
	return 0;
}

int fsa_finish(const struct fsa_builder *b, uint32_t automaton, enum fsa_stage stage,
	       struct fsa **out)
{
	struct fsa_graph g;
	int err = graph_init(&g);
	if (err)
		return err;
	err = copy_reachable(&b->graph, b->starts.at[automaton], &g);
	if (!err && stage >= FSA_MERGED)
		err = graph_merge_tails(&g, b->k, b->loops);
	if (!err && stage >= FSA_MERGED)
		err = compact(&g);
	if (!err && stage >= FSA_MINIMAL)
		err = graph_minimise(&g);
	if (!err && stage >= FSA_MINIMAL)
		err = compact(&g);
	if (!err)
		err = export(&g, out);
	graph_deinit(&g);
	return err;
}

void fsa_free(struct fsa *fsa)
{
	if (!fsa)
		return;
	free(fsa->first);
	free(fsa->arcs);
	free(fsa->accepted);
	free(fsa->cut);
	free(fsa);
}

uint32_t fsa_step(const struct fsa *fsa, uint32_t state, uint32_t symbol)
{
	uint32_t low = SEARCH_FIRST_NOT(fsa->first[state], fsa->first[state + 1], i,
					fsa->arcs[i].symbol < symbol);
	bool there = low < fsa->first[state + 1] && fsa->arcs[low].symbol == symbol;
	return there ? fsa->arcs[low].to : FSA_NONE;
}

bool fsa_accepts(const struct fsa *fsa, const uint32_t *symbols, size_t n)
{
	uint32_t state = 0;
	for (size_t i = 0; i < n && state != FSA_NONE; i++)
		state = fsa_step(fsa, state, symbols[i]);
	return state != FSA_NONE && fsa->accepted[state];
}
