// SPDX-License-Identifier: LGPL-2.1-or-later
/* placement.c: see placement.h. Each placement is a start (all nodes, a spanning tree, …), repaired
 * if it is not realizable, and but for the two naive ones reduced and then improved by a bounded
 * search, which on small functions proves the least weight. */
#include "offline/place/placement.h"

#include "offline/place/placement_search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What one function's search may cost: some milliseconds at worst. */
#define SEARCH_WORK (1u << 15)

static bool can_be_witnessed(const struct flow_graph *g, uint32_t node)
{
	return isfinite(g->nodes[node].weight) && (g->nodes[node].n_in || g->nodes[node].n_out);
}

static void start_blocks(const struct flow_graph *g, struct witness_set *w)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (can_be_witnessed(g, i))
			w->nodes[i] = 1;
}

static void start_targets(const struct flow_graph *g, struct witness_set *w)
{
	for (uint32_t e = 0; e < g->n_edges; e++) {
		uint32_t from = g->edges[e].from, to = g->edges[e].to;
		if (!fg_is_fork(g, from))
			continue;
		if (can_be_witnessed(g, to))
			w->nodes[to] = 1;
		else if (isfinite(g->nodes[from].way_weight))
			w->ways[from] = 1;
	}
}

static void start_best(const struct flow_graph *g, struct witness_set *w)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (isfinite(g->nodes[i].way_weight))
			w->ways[i] = 1;
	start_blocks(g, w);
}

static int start(const struct flow_graph *g, enum placement how, struct witness_set *w)
{
	switch (how) {
	case PLACE_BLOCKS:
		start_blocks(g, w);
		return 0;
	case PLACE_TARGETS:
		start_targets(g, w);
		return 0;
	case PLACE_EDGES:
		return placement_spanning_tree(g, w);
	case PLACE_NODES:
		return placement_figure_11(g, w);
	case PLACE_BEST:
		start_best(g, w);
		return 0;
	}
	return -EINVAL;
}

/* Drops witnesses of the start that cannot be placed there. */
static void drop_impossible(const struct flow_graph *g, const struct witness_set *fixed,
			    struct witness_set *w)
{
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (w->nodes[i] && !fixed->nodes[i] && !can_be_witnessed(g, i))
			w->nodes[i] = 0;
	for (uint32_t e = 0; e < g->n_edges; e++)
		if (w->edges[e] && !isfinite(g->edges[e].weight))
			w->edges[e] = 0;
}

int placement_choose(const struct flow_graph *g, enum placement how, struct witness_set *w)
{
	static const unsigned kinds[] = {
		[PLACE_BLOCKS] = WITH_NODES,
		[PLACE_TARGETS] = WITH_NODES,
		[PLACE_EDGES] = WITH_EDGES,
		[PLACE_NODES] = WITH_NODES,
		[PLACE_BEST] = WITH_NODES | WITH_WAYS,
	};
	struct witness_set fixed = {0};
	struct realizable *r = NULL;
	int err = witness_set_init(&fixed, g);
	if (!err)
		err = realizable_new(g, &r);
	if (!err) {
		witness_set_copy(&fixed, w, g);
		err = start(g, how, w);
		drop_impossible(g, &fixed, w);
	}
	int repaired = err ? err : placement_repair(g, r, kinds[how], w);
	unsigned used = kinds[how];
	if (repaired == -EDOM) {
		used |= WITH_NODES | WITH_WAYS;
		repaired = placement_repair(g, r, used, w);
	}
	bool improve = how >= PLACE_EDGES && !repaired, proven;
	if (improve)
		err = placement_reduce(g, r, &fixed, w);
	if (improve && !err)
		err = placement_optimum(g, r, used, &fixed, SEARCH_WORK, w, &proven);
	if (improve && !err) /* what weighs nothing is still a probe */
		err = placement_reduce(g, r, &fixed, w);
	realizable_free(r);
	witness_set_deinit(&fixed);
	return err ? err : repaired;
}

static void replace_edge(const struct flow_graph *g, const struct fg_edge *e, struct witness_set *w)
{
	const struct fg_node *from = &g->nodes[e->from], *to = &g->nodes[e->to];
	bool target = to->n_in == 1 && e->to != g->entry && can_be_witnessed(g, e->to);
	bool source = from->n_out == 1 && can_be_witnessed(g, e->from);
	if (target && (!source || to->weight <= from->weight))
		w->nodes[e->to] = 1;
	else if (source)
		w->nodes[e->from] = 1;
	else if (isfinite(from->way_weight))
		w->ways[e->from] = 1;
}

int placement_without_edges(const struct flow_graph *g, struct witness_set *w)
{
	struct realizable *r;
	int err = realizable_new(g, &r);
	if (err)
		return err;
	for (uint32_t e = 0; e < g->n_edges; e++)
		if (w->edges[e]) {
			w->edges[e] = 0;
			replace_edge(g, &g->edges[e], w);
		}
	err = placement_repair(g, r, WITH_NODES | WITH_WAYS, w);
	realizable_free(r);
	return err;
}
