// SPDX-License-Identifier: LGPL-2.1-or-later
/* placement_search.c: see placement_search.h. Everything rests on one fact: whatever breaks a given
 * violation must be among its own few nodes, ways and edges, so a search need only branch over
 * those. */
#include "offline/place/placement_search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t n_witnesses(const struct flow_graph *g)
{
	return 2 * g->n_nodes + g->n_edges;
}

static float weight_of(const struct flow_graph *g, uint32_t id)
{
	if (id < g->n_nodes)
		return g->nodes[id].weight;
	if (id < 2 * g->n_nodes)
		return g->nodes[id - g->n_nodes].way_weight;
	return g->edges[id - 2 * g->n_nodes].weight;
}

/* A node of the graph that is affected when @id goes. */
static uint32_t node_of(const struct flow_graph *g, uint32_t id)
{
	if (id < 2 * g->n_nodes)
		return id < g->n_nodes ? id : id - g->n_nodes;
	return g->edges[id - 2 * g->n_nodes].from;
}

/* What breaks @v: at most three for each of its edges, in @ids. */
static uint32_t breakers(const struct flow_graph *g, const struct violation *v, unsigned kinds,
			 uint32_t *ids)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < v->n_edges; i++) {
		uint32_t edge = v->edges[i], node = g->edges[edge].from;
		bool fork = v->kind == VIOLATION_DIAMOND && node == v->fork;
		if (kinds & WITH_EDGES && isfinite(g->edges[edge].weight))
			ids[n++] = 2 * g->n_nodes + edge;
		if (kinds & WITH_NODES && !fork && isfinite(g->nodes[node].weight))
			ids[n++] = node;
		if (kinds & WITH_WAYS && isfinite(g->nodes[node].way_weight))
			ids[n++] = g->n_nodes + node; /* a fork comes twice; no harm */
	}
	return n;
}

int placement_repair(const struct flow_graph *g, struct realizable *r, unsigned kinds,
		     struct witness_set *w)
{
	uint32_t *ids = malloc(6 * ((size_t)g->n_nodes + 2) * sizeof(*ids));
	struct violation v;
	int err = ids ? 0 : -ENOMEM;
	while (!err && !realizable_holds(r, w, &v)) {
		uint32_t n = breakers(g, &v, kinds, ids);
		if (!n) {
			err = -EDOM;
			break;
		}
		uint32_t best = ids[0];
		for (uint32_t i = 1; i < n; i++)
			if (weight_of(g, ids[i]) < weight_of(g, best))
				best = ids[i];
		w->nodes[best] = 1;
	}
	free(ids);
	return err;
}

struct weighted {
	uint32_t id;
	float weight;
};

static int heavier_first(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int placement_reduce(const struct flow_graph *g, struct realizable *r,
		     const struct witness_set *fixed, struct witness_set *w)
{
	uint32_t all = n_witnesses(g), n = 0;
	struct weighted *list = malloc((all + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t id = 0; id < all; id++)
		if (w->nodes[id] && !fixed->nodes[id])
			list[n++] = (struct weighted){id, weight_of(g, id)};
	qsort(list, n, sizeof(*list), heavier_first);
	for (uint32_t i = 0; i < n; i++) {
		w->nodes[list[i].id] = 0;
		if (!realizable_holds_around(r, w, node_of(g, list[i].id), NULL))
			w->nodes[list[i].id] = 1;
	}
	free(list);
	return 0;
}

struct search {
	const struct flow_graph *g;
	struct realizable *r;
	unsigned kinds;
	struct witness_set now, best, bound; /* bound: scratch of the lower bound */
	uint8_t *out;			     /* witnesses that this branch does without */
	double weight, best_weight;
	uint64_t work;
	uint32_t *ids; /* breakers of the open branches, one run after the other */
	uint32_t n_ids, cap_ids;
	bool failed, gave_up;
};

static bool usable(const struct search *s, uint32_t id)
{
	return !s->out[id];
}

/* A lower bound of what must be added: violations that have no breaker in common each need their
 * cheapest one. The search branches over the first of them, whose breakers stay in s->ids. */
static double lower_bound(struct search *s, uint32_t *n_first)
{
	struct violation v;
	double sum = 0;
	uint32_t start = s->n_ids;
	*n_first = 0;
	witness_set_copy(&s->bound, &s->now, s->g);
	while (!realizable_holds(s->r, &s->bound, &v)) {
		s->work -= s->work < s->g->n_edges ? s->work : s->g->n_edges;
		uint32_t room = start + *n_first + 3 * v.n_edges + 1;
		if (room > s->cap_ids) {
			uint32_t *ids = realloc(s->ids, 2 * room * sizeof(*ids));
			if (!ids) {
				s->failed = true;
				return INFINITY;
			}
			s->ids = ids;
			s->cap_ids = 2 * room;
		}
		uint32_t *ids = s->ids + start + *n_first;
		uint32_t n = breakers(s->g, &v, s->kinds, ids), kept = 0;
		float least = INFINITY;
		for (uint32_t i = 0; i < n; i++) {
			if (!usable(s, ids[i]))
				continue;
			if (weight_of(s->g, ids[i]) < least)
				least = weight_of(s->g, ids[i]);
			s->bound.nodes[ids[i]] = 1;
			ids[kept++] = ids[i];
		}
		sum += least;
		if (!isfinite(least) || s->weight + sum >= s->best_weight)
			return INFINITY;
		if (!*n_first)
			*n_first = kept;
	}
	return sum;
}

static int by_weight(const void *a, const void *b)
{
	return heavier_first(b, a);
}

static void branch(struct search *s)
{
	uint32_t start = s->n_ids, n;
	double bound = lower_bound(s, &n);
	s->gave_up |= !s->work;
	if (s->failed || s->gave_up || s->weight + bound >= s->best_weight)
		return;
	if (!n) { /* realizable, and cheaper */
		s->best_weight = s->weight;
		witness_set_copy(&s->best, &s->now, s->g);
		return;
	}
	struct weighted *order = malloc(n * sizeof(*order));
	if (!order) {
		s->failed = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = (struct weighted){s->ids[start + i], weight_of(s->g, s->ids[start + i])};
	qsort(order, n, sizeof(*order), by_weight);
	uint32_t tried = 0;
	for (; tried < n && !s->failed && !s->gave_up; tried++) {
		uint32_t id = order[tried].id;
		if (!usable(s, id))
			continue; /* the same once more */
		s->now.nodes[id] = 1;
		s->weight += order[tried].weight;
		branch(s);
		s->weight -= order[tried].weight;
		s->now.nodes[id] = 0;
		s->out[id] = 1;
	}
	for (uint32_t i = 0; i < tried; i++)
		s->out[order[i].id] = 0;
	free(order);
}

int placement_optimum(const struct flow_graph *g, struct realizable *r, unsigned kinds,
		      const struct witness_set *fixed, uint64_t work, struct witness_set *w,
		      bool *proven)
{
	struct search s = {.g = g, .r = r, .kinds = kinds, .work = work};
	int err = witness_set_init(&s.now, g) || witness_set_init(&s.best, g) ||
		  witness_set_init(&s.bound, g);
	s.out = calloc(n_witnesses(g) + 1, 1);
	err = err || !s.out ? -ENOMEM : 0;
	if (!err) {
		witness_set_copy(&s.now, fixed, g);
		witness_set_copy(&s.best, w, g);
		s.weight = witness_set_weight(fixed, g);
		s.best_weight = witness_set_weight(w, g) * (1 - 1e-6);
		branch(&s);
		err = s.failed ? -ENOMEM : 0;
		*proven = !s.gave_up;
	}
	if (!err)
		witness_set_copy(w, &s.best, g);
	witness_set_deinit(&s.now);
	witness_set_deinit(&s.best);
	witness_set_deinit(&s.bound);
	free(s.out);
	free(s.ids);
	return err;
}
