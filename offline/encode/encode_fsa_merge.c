// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_fsa_merge.c: the two steps of encode_fsa_graph.h that look at a whole automaton: merging
 * all states that share a k-tail, and minimisation.
 *
 * Tails are not listed state by state. All states start as one group; a group is split by the
 * symbols that lead on from its members, k times, and what is together then shares the word that
 * led there. Members that meet in one state share whatever comes after it, so they are merged at
 * once and go on as one: a group is never larger than the automaton. A group whose members are all
 * one already has nothing to add and is not followed. */
#include "offline/encode/encode_fsa_graph.h"

#include "offline/base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- states that share a tail ---- */

/* A state, and where the word so far leads from it. */
struct member {
	uint32_t origin, at;
};

/* A member with the next symbol. */
struct branch {
	uint32_t symbol, to, origin;
	bool loop; /* the word began with a loop */
};

struct merging {
	const struct fsa_graph *g;
	uint32_t k;
	bool loops;
	uint32_t *root;	  /* per state: union-find over what is to be merged */
	uint8_t *longest; /* per state: how long its tails are, up to k */
	bool merged;
};

static uint32_t root_of(struct merging *m, uint32_t state)
{
	while (m->root[state] != state) {
		m->root[state] = m->root[m->root[state]];
		state = m->root[state];
	}
	return state;
}

static void unite(struct merging *m, uint32_t a, uint32_t b)
{
	a = root_of(m, a);
	b = root_of(m, b);
	if (a == b)
		return;
	m->root[a > b ? a : b] = a > b ? b : a;
	m->merged = true;
}

/* An end repeats for ever, so every length can be seen from there. */
static int find_lengths(struct merging *m)
{
	const struct fsa_graph *g = m->g;
	uint8_t *next = malloc(g->states.n + 1);
	if (!next)
		return -ENOMEM;
	for (uint32_t q = 0; q < g->states.n; q++)
		m->longest[q] = g->states.at[q].ends ? m->k : 0;
	for (uint32_t round = 0; round < m->k; round++) {
		memcpy(next, m->longest, g->states.n);
		for (uint32_t i = 1; i < g->arcs.n; i++) {
			const struct graph_arc *arc = &g->arcs.at[i];
			uint32_t from = graph_find(g, arc->from), to = graph_find(g, arc->to);
			if (m->longest[to] + 1u > next[from] && next[from] < m->k)
				next[from] = m->longest[to] + 1;
		}
		memcpy(m->longest, next, g->states.n);
	}
	free(next);
	return 0;
}

static int by_branch(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;
	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	if (x->loop != y->loop)
		return x->loop ? 1 : -1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->origin < y->origin ? -1 : x->origin > y->origin;
}

static int split(struct merging *m, const struct member *group, uint32_t n, uint32_t depth);

/* branches[0 .. n) share the word up to and with the next symbol. Merges those that meet in one
 * state, and follows the rest unless all are one by now. */
static int follow(struct merging *m, const struct branch *branches, uint32_t n, uint32_t depth)
{
	uint32_t left = m->k - depth, met = 0;
	bool several = false;
	struct member *group = malloc((n + 1) * sizeof(*group));
	if (!group)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (m->longest[branches[i].to] < left)
			continue; /* the sequence was cut off: no tail */
		if (met && group[met - 1].at == branches[i].to)
			unite(m, group[met - 1].origin, branches[i].origin);
		else
			group[met++] = (struct member){branches[i].origin, branches[i].to};
	}
	for (uint32_t i = 1; i < met; i++)
		several |= root_of(m, group[i].origin) != root_of(m, group[0].origin);
	int err = 0;
	if (several && !left)
		for (uint32_t i = 1; i < met; i++)
			unite(m, group[0].origin, group[i].origin);
	else if (several)
		err = split(m, group, met, depth);
	free(group);
	return err;
}

/* Splits @group, whose members share a word of @depth symbols, by the next symbol. */
static int split(struct merging *m, const struct member *group, uint32_t n, uint32_t depth)
{
	const struct fsa_graph *g = m->g;
	VEC(struct branch) branches = {0};
	int err = 0;
	uint32_t ending = UINT32_MAX;
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct graph_state *state = &g->states.at[group[i].at];
		if (state->ends && ending != UINT32_MAX)
			unite(m, ending, group[i].origin);
		else if (state->ends)
			ending = group[i].origin;
		for (uint32_t arc = state->first_arc; arc && !err; arc = g->arcs.at[arc].next) {
			uint32_t to = graph_find(g, g->arcs.at[arc].to);
			bool loop = m->loops && !depth && to == group[i].at;
			if (!VEC_PUSH(&branches, (struct branch){g->arcs.at[arc].symbol, to,
								 group[i].origin, loop}))
				err = -ENOMEM;
		}
	}
	if (branches.n)
		qsort(branches.at, branches.n, sizeof(*branches.at), by_branch);
	for (uint32_t i = 0, end; i < branches.n && !err; i = end) {
		const struct branch *first = &branches.at[i];
		for (end = i + 1; end < branches.n && branches.at[end].symbol == first->symbol &&
				  branches.at[end].loop == first->loop;
		     end++)
			;
		if (end - i > 1)
			err = follow(m, first, end - i, depth + 1);
	}
	VEC_FREE(&branches);
	return err;
}

static int merge_round(struct fsa_graph *g, struct merging *m)
{
	uint32_t n = 0;
	struct member *all = malloc((g->states.n + 1) * sizeof(*all));
	int err = all ? find_lengths(m) : -ENOMEM;
	m->merged = false;
	for (uint32_t q = 0; q < g->states.n && !err; q++) {
		m->root[q] = q;
		if (g->states.at[q].parent == q)
			all[n++] = (struct member){q, q};
	}
	if (!err)
		err = split(m, all, n, 0);
	for (uint32_t q = 0; q < g->states.n && !err; q++)
		if (root_of(m, q) != q)
			err = graph_merge(g, root_of(m, q), q);
	free(all);
	return err;
}

int graph_merge_tails(struct fsa_graph *g, uint32_t k, bool loops)
{
	struct merging m = {
		.g = g,
		.k = k,
		.loops = loops,
		.root = malloc((g->states.n + 1) * sizeof(*m.root)),
		.longest = malloc(g->states.n + 1),
	};
	int err = m.root && m.longest ? 0 : -ENOMEM;
	do
		err = err ? err : merge_round(g, &m);
	while (!err && m.merged);
	free(m.root);
	free(m.longest);
	return err;
}

/* ---- minimisation ---- */

/* States by class, refined until all of a class lead on to the same classes by the same symbols
 * (Moore). States that share no tail differ within k symbols, so that few rounds are needed. */
struct refining {
	struct graph_arcs arcs; /* of all states, by state and symbol */
	uint32_t *first;	/* per state, and one more */
	uint32_t *class, *next;
	uint32_t *slots; /* representatives + 1 */
	uint32_t mask;
};

static uint64_t hash_state(const struct refining *r, uint32_t q)
{
	uint64_t h = r->class[q];
	for (uint32_t i = r->first[q]; i < r->first[q + 1]; i++)
		h = hash_more(h, (uint64_t)r->arcs.at[i].symbol << 32 | r->class[r->arcs.at[i].to]);
	return h;
}

static bool alike(const struct refining *r, uint32_t p, uint32_t q)
{
	uint32_t n = r->first[p + 1] - r->first[p];
	if (r->class[p] != r->class[q] || n != r->first[q + 1] - r->first[q])
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct graph_arc *a = &r->arcs.at[r->first[p] + i];
		const struct graph_arc *b = &r->arcs.at[r->first[q] + i];
		if (a->symbol != b->symbol || r->class[a->to] != r->class[b->to])
			return false;
	}
	return true;
}

/* Returns the number of classes. */
static uint32_t refine(struct refining *r, uint32_t n_states)
{
	uint32_t n = 0;
	memset(r->slots, 0, ((size_t)r->mask + 1) * sizeof(*r->slots));
	for (uint32_t q = 0; q < n_states; q++) {
		uint32_t i = (uint32_t)hash_state(r, q) & r->mask;
		while (r->slots[i] && !alike(r, r->slots[i] - 1, q))
			i = (i + 1) & r->mask;
		if (!r->slots[i]) {
			r->slots[i] = q + 1;
			r->next[q] = n++;
		} else {
			r->next[q] = r->next[r->slots[i] - 1];
		}
	}
	memcpy(r->class, r->next, n_states * sizeof(*r->class));
	return n;
}

static int list_arcs(const struct fsa_graph *g, struct refining *r)
{
	struct graph_arcs one = {0};
	int err = 0;
	for (uint32_t q = 0; q < g->states.n && !err; q++) {
		r->first[q] = r->arcs.n;
		err = graph_sorted_arcs(g, q, &one);
		if (!err && !VEC_RESERVE(&r->arcs, one.n + 1))
			err = -ENOMEM;
		for (uint32_t i = 0; i < one.n && !err; i++)
			r->arcs.at[r->arcs.n++] = one.at[i];
		const struct graph_state *state = &g->states.at[q];
		r->class[q] = 2 * !!state->accepted + !!state->cut;
	}
	r->first[g->states.n] = r->arcs.n;
	VEC_FREE(&one);
	return err;
}

static int merge_classes(struct fsa_graph *g, const struct refining *r, uint32_t n_classes)
{
	uint32_t *first = calloc(n_classes + 1, sizeof(*first));
	int err = first ? 0 : -ENOMEM;
	for (uint32_t q = 0; q < g->states.n && !err; q++) {
		uint32_t *of_class = &first[r->class[q]];
		if (*of_class)
			err = graph_merge(g, *of_class - 1, q);
		else
			*of_class = q + 1;
	}
	free(first);
	return err;
}

int graph_minimise(struct fsa_graph *g)
{
	uint32_t n = g->states.n, classes = 0, before;
	struct refining r = {.mask = 15};
	while (r.mask / 2 < n)
		r.mask = 2 * r.mask + 1;
	r.first = malloc(((size_t)n + 1) * sizeof(*r.first));
	r.class = malloc(((size_t)n + 1) * sizeof(*r.class));
	r.next = malloc(((size_t)n + 1) * sizeof(*r.next));
	r.slots = malloc(((size_t)r.mask + 1) * sizeof(*r.slots));
	int err = r.first && r.class && r.next && r.slots ? list_arcs(g, &r) : -ENOMEM;
	do {
		before = classes;
		classes = err ? before : refine(&r, n);
	} while (classes != before);
	if (!err && classes < n)
		err = merge_classes(g, &r, classes);
	VEC_FREE(&r.arcs);
	free(r.first);
	free(r.class);
	free(r.next);
	free(r.slots);
	return err;
}
