// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_cover.c: by which witnesses a share tells some forks of a function. A fork is told by a
 * share that breaks each of its diamonds and each directed cycle through it: then what the share
 * sees first is different for different ways out (Theorem 2). A witness more never makes a fork
 * untold, so forks are mended one after the other, and no one is looked at twice. */
#include "offline/share/share_split.h"

#include "offline/place/placement_search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a search for the least may cost, in small functions. */
#define SEARCH_WORK (1u << 13)
#define SEARCH_NODES_MAX 200

/* What the share has in the function anyway. */
static void fixed_of(const struct share_split *s, uint32_t share, const struct share_graph *g,
		     struct witness_set *w)
{
	const struct pugmark_plan_func *f = &s->plan->funcs[g->func];
	for (uint32_t i = 0; split_has_events(s, share) && i < f->n_nodes; i++) {
		uint32_t site = s->plan->nodes[f->node + i].site;
		if (site == PUGMARK_NONE || !s->events[site])
			continue;
		bool way = isfinite(g->flow.nodes[i].way_weight);
		(way ? w->ways : w->nodes)[i] = 1;
	}
}

static struct realizable *told_of(struct share_split *s, uint32_t graph)
{
	if (!s->told[graph] && realizable_new(&s->graphs[graph].flow, &s->told[graph]))
		return NULL;
	return s->told[graph];
}

struct share_cell *share_cell_at(struct share_split *s, uint32_t share, uint32_t graph)
{
	struct share_cell *c = &s->cells[(size_t)share * s->n_graphs + graph];
	if (c->forks)
		return c;
	const struct share_graph *g = &s->graphs[graph];
	c->forks = calloc(g->flow.n_nodes, 1);
	if (!c->forks || witness_set_init(&c->w, &g->flow)) {
		share_cell_deinit(c);
		return NULL;
	}
	fixed_of(s, share, g, &c->w);
	return c;
}

void share_cell_deinit(struct share_cell *c)
{
	witness_set_deinit(&c->w);
	free(c->forks);
	*c = (struct share_cell){0};
}

/* The cheapest witness that breaks @v, as its place in the bytes of a set; PUGMARK_NONE: none. */
static uint32_t cheapest_breaker(const struct flow_graph *g, const struct violation *v)
{
	uint32_t best = PUGMARK_NONE;
	float least = INFINITY;
	for (uint32_t i = 0; i < v->n_edges; i++) {
		uint32_t node = g->edges[v->edges[i]].from;
		bool fork = v->kind == VIOLATION_DIAMOND && node == v->fork;
		if (!fork && g->nodes[node].weight < least) {
			least = g->nodes[node].weight;
			best = node;
		}
		if (g->nodes[node].way_weight < least) {
			least = g->nodes[node].way_weight;
			best = g->n_nodes + node;
		}
	}
	return best;
}

bool share_cover_fork(const struct flow_graph *g, struct realizable *r, uint32_t fork,
		      struct witness_set *w)
{
	struct violation v;
	while (!realizable_fork_told(r, w, fork, &v)) {
		uint32_t best = cheapest_breaker(g, &v);
		if (best == PUGMARK_NONE)
			return false;
		w->nodes[best] = 1;
	}
	return true;
}

static void count(struct share_split *s, uint32_t share, uint32_t graph, struct share_cell *c)
{
	const struct share_graph *g = &s->graphs[graph];
	struct witness_set fixed;
	c->cost_ns = witness_set_weight(&c->w, &g->flow);
	c->n_sites = 0;
	for (uint32_t i = 0; i < 2 * g->flow.n_nodes; i++)
		c->n_sites += c->w.nodes[i];
	if (split_has_events(s, share) && !witness_set_init(&fixed, &g->flow)) {
		fixed_of(s, share, g, &fixed);
		c->cost_ns -= witness_set_weight(&fixed, &g->flow);
		for (uint32_t i = 0; i < 2 * g->flow.n_nodes; i++)
			c->n_sites -= fixed.nodes[i];
		witness_set_deinit(&fixed);
	}
}

int share_cover_add(struct share_split *s, uint32_t share, uint32_t graph, struct share_cell *c,
		    const uint32_t *forks, uint32_t n)
{
	const struct share_graph *g = &s->graphs[graph];
	struct realizable *r = told_of(s, graph);
	struct witness_set before = {0};
	if (!r || witness_set_init(&before, &g->flow))
		return -ENOMEM;
	witness_set_copy(&before, &c->w, &g->flow);
	for (uint32_t i = 0; i < n; i++)
		c->forks[forks[i]] = share_cover_fork(&g->flow, r, forks[i], &c->w);
	realizable_only(r, c->forks);
	int err = placement_reduce(&g->flow, r, &before, &c->w);
	realizable_only(r, NULL);
	count(s, share, graph, c);
	witness_set_deinit(&before);
	return err;
}

/* The witnesses for the forks of @mask from nothing, in @w. */
static int cover(struct share_split *s, uint32_t share, uint32_t graph, const uint8_t *mask,
		 struct witness_set *w)
{
	const struct share_graph *g = &s->graphs[graph];
	struct realizable *r = told_of(s, graph);
	struct witness_set fixed = {0};
	bool proven;
	if (!r || witness_set_init(&fixed, &g->flow))
		return -ENOMEM;
	fixed_of(s, share, g, &fixed);
	witness_set_copy(w, &fixed, &g->flow);
	for (uint32_t i = 0; i < g->flow.n_nodes; i++)
		if (mask[i])
			share_cover_fork(&g->flow, r, i, w);
	realizable_only(r, mask);
	int err = placement_reduce(&g->flow, r, &fixed, w);
	if (!err && g->flow.n_nodes <= SEARCH_NODES_MAX)
		err = placement_optimum(&g->flow, r, WITH_NODES | WITH_WAYS, &fixed, SEARCH_WORK, w,
					&proven);
	realizable_only(r, NULL);
	witness_set_deinit(&fixed);
	return err;
}

int share_cover_anew(struct share_split *s, uint32_t share, uint32_t graph, struct share_cell *c)
{
	const struct share_graph *g = &s->graphs[graph];
	struct share_cell other = {.forks = c->forks};
	int err = witness_set_init(&other.w, &g->flow);
	if (!err)
		err = cover(s, share, graph, c->forks, &other.w);
	if (!err) {
		count(s, share, graph, &other);
		count(s, share, graph, c);
		bool better = other.cost_ns < c->cost_ns ||
			      (other.cost_ns <= c->cost_ns && other.n_sites < c->n_sites);
		if (better) {
			witness_set_copy(&c->w, &other.w, &g->flow);
			c->cost_ns = other.cost_ns;
			c->n_sites = other.n_sites;
		}
	}
	witness_set_deinit(&other.w);
	return err;
}

int share_cover_weigh(struct share_split *s, uint32_t share, uint32_t graph, const uint8_t *mask,
		      double *cost_ns)
{
	const struct share_graph *g = &s->graphs[graph];
	struct share_cell c = {0};
	int err = witness_set_init(&c.w, &g->flow);
	if (!err)
		err = cover(s, share, graph, mask, &c.w);
	if (!err) {
		count(s, share, graph, &c);
		*cost_ns = c.cost_ns;
	}
	witness_set_deinit(&c.w);
	return err;
}
