// SPDX-License-Identifier: LGPL-2.1-or-later
/* labels.c: see labels.h. While an edge has been there in every execution of its node, it has no
 * list; the first execution that differs writes out what was before. Nor has one a list that was
 * there whenever another edge between the same nodes was, with the same timestamps: it follows that
 * one until they differ. */
#include "offline/wet/graph/labels.h"

#include <stdlib.h>
#include <string.h>

void wet_edges_deinit(struct wet_edges *e)
{
	for (uint32_t i = 0; i < e->n; i++)
		for (int side = 0; side < 2; side++)
			wet_growing_deinit(&e->at[i].times[side]);
	free(e->at);
	free(e->slots);
}

static bool same(const struct wet_edge *a, const struct wet_edge *b)
{
	return a->to == b->to && a->from == b->from && a->operand == b->operand;
}

static uint32_t *find(const struct wet_edges *e, uint32_t *slots, uint32_t n_slots,
		      const struct wet_edge *edge)
{
	uint64_t h = ((uint64_t)edge->to << 32 | edge->from) * 0x9e3779b97f4a7c15;
	h = (h ^ h >> 29 ^ edge->operand) * 0x9e3779b97f4a7c15;
	for (uint32_t i = h >> 32 & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
		const struct wet_edge *at = slots[i] ? &e->at[slots[i] - 1] : NULL;
		if (!at || same(at, edge))
			return &slots[i];
	}
}

static bool make_room(struct wet_edges *e)
{
	if (2 * (e->n + 1) > e->n_slots) {
		uint32_t n = e->n_slots ? 2 * e->n_slots : 1024;
		uint32_t *slots = calloc(n, sizeof(*slots));
		if (!slots)
			return false;
		for (uint32_t i = 0; i < e->n; i++)
			*find(e, slots, n, &e->at[i]) = i + 1;
		free(e->slots);
		e->slots = slots;
		e->n_slots = n;
	}
	if (e->n == e->room) {
		uint32_t room = e->room ? 2 * e->room : 256;
		struct wet_edge *at = aligned_alloc(_Alignof(struct wet_edge), room * sizeof(*at));
		if (!at)
			return false;
		if (e->n)
			memcpy(at, e->at, e->n * sizeof(*at));
		free(e->at);
		e->at = at;
		e->room = room;
	}
	return true;
}

static bool put(struct wet_edges *edges, struct wet_edge *e, uint32_t to_time, uint32_t from_time)
{
	return wet_growing_add(edges->press, &e->times[0], to_time) &&
	       wet_growing_add(edges->press, &e->times[1], from_time);
}

static bool write_out(struct wet_edges *edges, struct wet_edge *e)
{
	e->inferred = false;
	for (uint32_t t = 0; t < e->n; t++)
		if (!put(edges, e, t, t))
			return false;
	return true;
}

/* From here on an edge that has followed has labels of its own. */
static bool part(struct wet_edges *edges, struct wet_edge *e)
{
	const struct wet_edge *other = &edges->at[e->follows - 1];
	e->follows = 0;
	for (int side = 0; side < 2; side++)
		if (!wet_growing_begin_as(edges->press, &e->times[side], &other->times[side], e->n))
			return false;
	return true;
}

/* The number of the edge, a new one where there is none yet, plus one; 0: out of memory. */
static uint32_t find_or_make(struct wet_edges *edges, const struct wet_edge *edge)
{
	if (!make_room(edges))
		return 0;
	uint32_t *slot = find(edges, edges->slots, edges->n_slots, edge);
	if (!*slot) {
		struct wet_edge *e = &edges->at[edges->n];
		*e = (struct wet_edge){.to = edge->to,
				       .from = edge->from,
				       .to_node = edge->to_node,
				       .from_node = edge->from_node,
				       .operand = edge->operand,
				       .inferred = edge->to_node == edge->from_node};
		*slot = ++edges->n;
	}
	return *slot;
}

/* The number + 1 of an edge that has parted in this execution as @e does, with the same label. 0:
 * none. */
static uint32_t parted_alike(struct wet_edges *edges, const struct wet_edge *e, uint32_t like,
			     uint32_t to_time, uint32_t from_time)
{
	if (edges->parted_node != e->to_node || edges->parted_time != to_time) {
		edges->n_parted = 0;
		edges->parted_node = e->to_node;
		edges->parted_time = to_time;
	}
	for (uint32_t i = 0; i < edges->n_parted; i++) {
		const struct wet_parted *p = &edges->parted[i];
		const struct wet_edge *x = &edges->at[p->edge];
		if (x->from_node == e->from_node && p->n == e->n && x->n == e->n + 1 &&
		    x->last[0] == to_time && x->last[1] == from_time && (!e->n || p->like == like))
			return p->edge + 1;
	}
	return 0;
}

/* Another label of @e, which is neither inferred nor that of the edge that it has followed. */
static bool differs(struct wet_edges *edges, struct wet_edge *e, uint32_t to_time,
		    uint32_t from_time)
{
	uint32_t like = e->follows, number = (uint32_t)(e - edges->at);
	bool whole = like || e->inferred || !e->n; /* it has no list */
	uint32_t other = whole ? parted_alike(edges, e, like, to_time, from_time) : 0;
	if (other) {
		e->inferred = false;
		e->follows = other;
		return true;
	}
	if (whole && edges->n_parted < WET_PARTED_MAX)
		edges->parted[edges->n_parted++] = (struct wet_parted){number, like, e->n};
	if (e->inferred ? !write_out(edges, e) : like && !part(edges, e))
		return false;
	return put(edges, e, to_time, from_time);
}

bool wet_edges_again(struct wet_edges *edges, uint32_t number, uint32_t to_time, uint32_t from_time)
{
	struct wet_edge *e = &edges->at[number];
	bool fine = true;
	if (edges->counts && e->operand != WET_CONTROL) {
		e->inferred = e->inferred && to_time == from_time && to_time == e->n;
		e->n++;
		return true;
	}
	if (e->inferred) {
		if (to_time != from_time || to_time != e->n)
			fine = differs(edges, e, to_time, from_time);
	} else if (e->follows) {
		const struct wet_edge *other = &edges->at[e->follows - 1];
		if (other->n != e->n + 1 || other->last[0] != to_time ||
		    other->last[1] != from_time)
			fine = differs(edges, e, to_time, from_time);
	} else {
		fine = e->n ? put(edges, e, to_time, from_time)
			    : differs(edges, e, to_time, from_time);
	}
	e->n++;
	e->last[0] = to_time;
	e->last[1] = from_time;
	return fine;
}

bool wet_edges_add(struct wet_edges *edges, const struct wet_edge *edge, uint32_t to_time,
		   uint32_t from_time, uint32_t *last)
{
	if (!*last || !same(&edges->at[*last - 1], edge))
		*last = find_or_make(edges, edge);
	return *last && wet_edges_again(edges, *last - 1, to_time, from_time);
}

/* --- at the end ------------------------------------------------------------------------------ */

static int compare_labels(const struct wet_edge *x, const struct wet_edge *y)
{
	if (x->to_node != y->to_node)
		return x->to_node < y->to_node ? -1 : 1;
	if (x->from_node != y->from_node)
		return x->from_node < y->from_node ? -1 : 1;
	int differ = wet_growing_compare(&x->times[0], &y->times[0]);
	return differ ? differ : wet_growing_compare(&x->times[1], &y->times[1]);
}

static int by_labels(const void *a, const void *b, void *edges)
{
	const struct wet_edge *all = edges;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int differ = compare_labels(&all[i], &all[k]);
	return differ ? differ : i < k ? -1 : i > k;
}

/* Lists of labels are written out that have to be. */
static bool complete(struct wet_edges *edges, const uint32_t *executions)
{
	for (uint32_t i = 0; i < edges->n; i++) {
		struct wet_edge *e = &edges->at[i];
		if (edges->counts && e->operand != WET_CONTROL) {
			e->inferred = e->inferred && e->n == executions[e->to_node];
			continue;
		}
		if (e->inferred && e->n != executions[e->to_node] && !write_out(edges, e))
			return false;
		if (e->follows && edges->at[e->follows - 1].n != e->n && !part(edges, e))
			return false;
	}
	return wet_press_wait(edges->press);
}

/* In @first: of each edge that has labels, the first one with the same. */
static void find_first(struct wet_edges *edges, uint32_t *order, uint32_t *first)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < edges->n; i++) {
		first[i] = i;
		if (wet_edge_labels(&edges->at[i]))
			order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), by_labels, edges->at);
	for (uint32_t i = 1; i < n; i++)
		if (!compare_labels(&edges->at[order[i]], &edges->at[order[i - 1]]))
			first[order[i]] = first[order[i - 1]];
}

bool wet_edges_finish(struct wet_edges *edges, const uint32_t *executions)
{
	uint32_t *order = calloc(edges->n + 1, sizeof(*order));
	uint32_t *first = calloc(edges->n + 1, sizeof(*first));
	bool fine = order && first && complete(edges, executions);
	if (fine)
		find_first(edges, order, first);
	for (uint32_t i = 0; fine && i < edges->n; i++)
		if (edges->at[i].follows)
			first[i] = first[edges->at[i].follows - 1];
	for (uint32_t i = 0; fine && i < edges->n; i++) {
		struct wet_edge *e = &edges->at[i], *owner = &edges->at[first[i]];
		e->follows = 0;
		if (owner == e)
			continue;
		e->shares = first[i] + 1;
		for (int side = 0; side < 2; side++)
			wet_growing_deinit(&e->times[side]);
	}
	free(order);
	free(first);
	return fine;
}
