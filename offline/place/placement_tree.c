// SPDX-License-Identifier: LGPL-2.1-or-later
/* placement_tree.c: placements that come from a maximum spanning tree: Ball and Larus' of edges
 * ("Optimally profiling and tracing programs", TOPLAS 1994), which breaks every cycle of the
 * undirected graph, diamonds and directed cycles among them; and, from that, the nodes of Figure 11
 * of "Distributed Program Tracing" (ESEC/FSE 2013). */
#include "offline/place/placement.h"

#include <errno.h>
#include <stdlib.h>

/* Vertices of the undirected graph are the two sides of each node, joined unless a witness on the
 * node keeps them apart. An edge out of a node whose way out is witnessed hangs from a vertex of
 * its own, so it closes no cycle. */
struct forest {
	const struct flow_graph *g;
	const struct witness_set *w;
	uint32_t *parent;
};

static uint32_t root(struct forest *f, uint32_t v)
{
	while (f->parent[v] != v)
		v = f->parent[v] = f->parent[f->parent[v]];
	return v;
}

/* Takes @edge into the forest; false if that would close a cycle. */
static bool join(struct forest *f, uint32_t edge)
{
	const struct fg_edge *e = &f->g->edges[edge];
	if (f->w->edges[edge])
		return true; /* it has a witness: cycles through it are broken */
	uint32_t from = f->w->ways[e->from] ? 2 * f->g->n_nodes + edge : 2 * e->from + 1;
	uint32_t a = root(f, from), b = root(f, 2 * e->to);
	if (a == b)
		return false;
	f->parent[a] = b;
	return true;
}

static int forest_init(struct forest *f, const struct flow_graph *g, const struct witness_set *w)
{
	uint32_t n = 2 * g->n_nodes + g->n_edges;
	*f = (struct forest){.g = g, .w = w, .parent = malloc((n + 1) * sizeof(uint32_t))};
	if (!f->parent)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		f->parent[i] = i;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (!witness_on_node(w, i))
			f->parent[2 * i + 1] = 2 * i;
	return 0;
}

struct ranked {
	uint32_t edge;
	float weight;
};

static int heavier_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* Leaves out the edges of least weight that would close a cycle; @special ones are taken into the
 * tree first. */
static int leave_over(struct forest *f, const uint8_t *special, uint8_t *over)
{
	const struct flow_graph *g = f->g;
	struct ranked *list = malloc((g->n_edges + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t e = 0; e < g->n_edges; e++)
		list[e] = (struct ranked){e, g->edges[e].weight};
	qsort(list, g->n_edges, sizeof(*list), heavier_first);
	for (uint32_t i = 0; i < g->n_edges; i++)
		if (special && special[list[i].edge])
			join(f, list[i].edge); /* in the tree, even where that closes a cycle */
	for (uint32_t i = 0; i < g->n_edges; i++)
		if (!(special && special[list[i].edge]) && !join(f, list[i].edge))
			over[list[i].edge] = 1;
	free(list);
	return 0;
}

int placement_spanning_tree(const struct flow_graph *g, struct witness_set *w)
{
	struct forest f;
	uint8_t *over = calloc(g->n_edges + 1, 1);
	int err = over ? forest_init(&f, g, w) : -ENOMEM;
	if (!err) {
		err = leave_over(&f, NULL, over);
		for (uint32_t e = 0; e < g->n_edges && !err; e++)
			w->edges[e] |= over[e];
		free(f.parent);
	}
	free(over);
	return err;
}

/* Whether @edge, from a fork, is a whole path of a diamond: another path leads from the fork to the
 * node at its end. */
static bool is_special(const struct flow_graph *g, uint32_t edge, uint32_t *queue, uint8_t *seen)
{
	uint32_t fork = g->edges[edge].from, join = g->edges[edge].to, n = 0;
	bool found = false;
	queue[n++] = fork;
	seen[fork] = 1;
	for (uint32_t done = 0; done < n; done++)
		for (uint32_t k = 0; k < g->nodes[queue[done]].n_out; k++) {
			uint32_t e = g->nodes[queue[done]].out + k, to = g->edges[e].to;
			if (e == edge)
				continue;
			found |= to == join;
			if (to != join && !seen[to]) {
				seen[to] = 1;
				queue[n++] = to;
			}
		}
	while (n)
		seen[queue[--n]] = 0;
	return found;
}

int placement_figure_11(const struct flow_graph *g, struct witness_set *w)
{
	struct forest f = {0};
	uint8_t *special = calloc(g->n_edges + 1, 1), *over = calloc(g->n_edges + 1, 1);
	uint8_t *seen = calloc(g->n_nodes + 1, 1);
	uint32_t *queue = malloc((g->n_nodes + 1) * sizeof(*queue));
	int err = special && over && seen && queue ? forest_init(&f, g, w) : -ENOMEM;
	for (uint32_t e = 0; e < g->n_edges && !err; e++)
		special[e] = fg_is_fork(g, g->edges[e].from) && is_special(g, e, queue, seen);
	if (!err)
		err = leave_over(&f, special, over);
	for (uint32_t e = 0; e < g->n_edges && !err; e++) {
		uint32_t src = g->edges[e].from, tgt = g->edges[e].to;
		if (!over[e])
			continue;
		if (fg_is_fork(g, src))
			w->nodes[tgt] = 1;
		else if (fg_is_join(g, tgt))
			w->nodes[src] = 1;
		else
			w->nodes[g->nodes[src].weight < g->nodes[tgt].weight ? src : tgt] = 1;
	}
	free(f.parent);
	free(special);
	free(over);
	free(seen);
	free(queue);
	return err;
}
