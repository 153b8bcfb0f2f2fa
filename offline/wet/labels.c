// SPDX-License-Identifier: LGPL-2.1-or-later
/* labels.c: see labels.h. While an edge has been there in every execution of its node, it has no
 * list; the first execution that differs writes out what was before. */
#include "offline/wet/labels.h"

#include <stdlib.h>
#include <string.h>

void wet_edges_deinit(struct wet_edges *e)
{
	for (uint32_t i = 0; i < e->n; i++)
		free(e->at[i].times);
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
		struct wet_edge *at = realloc(e->at, room * sizeof(*at));
		if (!at)
			return false;
		e->at = at;
		e->room = room;
	}
	return true;
}

static bool put(struct wet_edge *e, uint32_t to_time, uint32_t from_time)
{
	if (e->n_times + 2 > e->room_times) {
		uint64_t room = 2 * e->room_times + 4;
		uint32_t *times = realloc(e->times, room * sizeof(*times));
		if (!times)
			return false;
		e->times = times;
		e->room_times = room;
	}
	e->times[e->n_times++] = to_time;
	e->times[e->n_times++] = from_time;
	return true;
}

static bool write_out(struct wet_edge *e)
{
	e->inferred = false;
	for (uint32_t t = 0; t < e->n; t++)
		if (!put(e, t, t))
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
		*e = *edge;
		e->inferred = edge->to_node == edge->from_node;
		e->shares = 0;
		e->n = e->n_times = e->room_times = 0;
		e->times = NULL;
		*slot = ++edges->n;
	}
	return *slot;
}

bool wet_edges_add(struct wet_edges *edges, const struct wet_edge *edge, uint32_t to_time,
		   uint32_t from_time, uint32_t *last)
{
	if (!*last || !same(&edges->at[*last - 1], edge))
		*last = find_or_make(edges, edge);
	if (!*last)
		return false;
	struct wet_edge *e = &edges->at[*last - 1];
	bool again = e->inferred && to_time == from_time && to_time == e->n;
	if (e->inferred && !again && !write_out(e))
		return false;
	e->n++;
	return again || put(e, to_time, from_time);
}

static int by_labels(const void *a, const void *b, void *edges)
{
	const struct wet_edge *sorted = edges;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct wet_edge *x = &sorted[i], *y = &sorted[k];
	if (x->to_node != y->to_node)
		return x->to_node < y->to_node ? -1 : 1;
	if (x->from_node != y->from_node)
		return x->from_node < y->from_node ? -1 : 1;
	if (x->n_times != y->n_times)
		return x->n_times < y->n_times ? -1 : 1;
	int differ = x->n_times ? memcmp(x->times, y->times, 4 * x->n_times) : 0;
	return differ ? differ : i < k ? -1 : i > k;
}

bool wet_edges_finish(struct wet_edges *e, const uint32_t *executions)
{
	uint32_t *order = calloc(e->n + 1, sizeof(*order));
	if (!order)
		return false;
	for (uint32_t i = 0; i < e->n; i++) {
		order[i] = i;
		if (e->at[i].inferred && e->at[i].n != executions[e->at[i].to_node] &&
		    !write_out(&e->at[i])) {
			free(order);
			return false;
		}
	}
	qsort_r(order, e->n, sizeof(*order), by_labels, e->at);
	for (uint32_t i = 1; i < e->n; i++) {
		struct wet_edge *x = &e->at[order[i]], *last = &e->at[order[i - 1]];
		if (!x->n_times || x->to_node != last->to_node || x->from_node != last->from_node)
			continue;
		struct wet_edge *owner = last->shares ? &e->at[last->shares - 1] : last;
		if (owner->n_times != x->n_times || memcmp(owner->times, x->times, 4 * x->n_times))
			continue;
		x->shares = owner - e->at + 1;
	}
	for (uint32_t i = 0; i < e->n; i++)
		if (e->at[i].shares) {
			free(e->at[i].times);
			e->at[i].times = NULL;
			e->at[i].n_times = 0;
		}
	free(order);
	return true;
}
