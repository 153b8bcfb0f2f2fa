// SPDX-License-Identifier: LGPL-2.1-or-later
/* flow_graph.c: see flow_graph.h. */
#include "offline/place/flow_graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int allocate(struct flow_graph *g, uint32_t n_nodes, uint32_t n_edges)
{
	*g = (struct flow_graph){.n_nodes = n_nodes, .n_edges = n_edges};
	g->nodes = calloc(n_nodes + 1, sizeof(*g->nodes));
	g->edges = calloc(n_edges + 1, sizeof(*g->edges));
	g->in_edges = calloc(n_edges + 1, sizeof(*g->in_edges));
	if (g->nodes && g->edges && g->in_edges)
		return 0;
	flow_graph_deinit(g);
	return -ENOMEM;
}

/* Fills the runs of nodes; edges are by from. */
static void index_edges(struct flow_graph *g)
{
	for (uint32_t i = g->n_edges; i-- > 0;) {
		g->nodes[g->edges[i].from].out = i;
		g->nodes[g->edges[i].from].n_out++;
		g->nodes[g->edges[i].to].n_in++;
	}
	uint32_t at = 0;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		g->nodes[i].in = at;
		at += g->nodes[i].n_in;
		g->nodes[i].n_in = 0;
	}
	for (uint32_t i = 0; i < g->n_edges; i++) {
		struct fg_node *to = &g->nodes[g->edges[i].to];
		g->in_edges[to->in + to->n_in++] = i;
	}
}

int flow_graph_init(struct flow_graph *g, uint32_t n_nodes, const uint32_t (*pairs)[2],
		    uint32_t n_edges, uint32_t entry, uint32_t exit)
{
	int err = allocate(g, n_nodes, n_edges);
	if (err)
		return err;
	uint32_t at = 0;
	for (uint32_t node = 0; node < n_nodes; node++) {
		g->nodes[node].weight = g->nodes[node].freq = 1;
		g->nodes[node].way_weight = INFINITY;
		for (uint32_t i = 0; i < n_edges; i++)
			if (pairs[i][0] == node)
				g->edges[at++] = (struct fg_edge){node, pairs[i][1], 1, 1};
	}
	g->entry = entry;
	g->exit = exit;
	index_edges(g);
	return 0;
}

/* Edge frequencies that agree with those of the blocks, as far as there are any: each block's is
 * shared out to the ways that leave it, and to the ways that lead to it, in turn (iterative
 * proportional fitting). */
static void fit_edges(struct flow_graph *g)
{
	for (uint32_t i = 0; i < g->n_edges; i++)
		g->edges[i].freq = 1;
	for (int round = 0; round < 16; round++)
		for (uint32_t i = 0; i < g->n_nodes; i++) {
			const struct fg_node *n = &g->nodes[i];
			double out = 0, in = 0;
			for (uint32_t k = 0; k < n->n_out; k++)
				out += g->edges[n->out + k].freq;
			for (uint32_t k = 0; k < n->n_out && out > 0; k++)
				g->edges[n->out + k].freq *= n->freq / out;
			for (uint32_t k = 0; k < n->n_in; k++)
				in += g->edges[g->in_edges[n->in + k]].freq;
			/* what enters the function, or unwinds to a landing pad, comes by no
			 * edge */
			for (uint32_t k = 0; k < n->n_in && in > n->freq; k++)
				g->edges[g->in_edges[n->in + k]].freq *= n->freq / in;
		}
}

static bool leaves(const struct prog_block *b)
{
	return b->flags & (PROG_RET | PROG_TAIL) || !b->n_succ;
}

static bool reached(const struct program *prog, uint32_t block)
{
	return prog->blocks[block].flags & PROG_REACHED;
}

static void weigh_edges(struct flow_graph *g)
{
	for (uint32_t i = 0; i < g->n_edges; i++) {
		struct fg_edge *e = &g->edges[i];
		const struct fg_node *from = &g->nodes[e->from], *to = &g->nodes[e->to];
		e->weight = INFINITY;
		if (to->n_in == 1 && e->to != g->entry)
			e->weight = to->weight;
		if (from->n_out == 1 && from->weight < e->weight)
			e->weight = from->weight;
		if (from->way_weight < e->weight)
			e->weight = from->way_weight;
	}
}

static float weight_of(const struct prog_probe *probe, float freq)
{
	return isfinite(probe->cost_ns) ? freq * probe->cost_ns : INFINITY;
}

int flow_graph_of_function(struct flow_graph *g, const struct program *prog, uint32_t func)
{
	const struct prog_func *f = &prog->funcs[func];
	uint32_t n_edges = 0;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		if (reached(prog, b))
			n_edges += leaves(&prog->blocks[b]) ? 1 : prog->blocks[b].n_succ;
	int err = allocate(g, f->n_blocks + 1, n_edges);
	if (err)
		return err;
	g->exit = f->n_blocks;
	g->nodes[g->exit].weight = g->nodes[g->exit].way_weight = INFINITY;
	uint32_t at = 0;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct prog_block *b = &prog->blocks[f->block + i];
		struct fg_node *n = &g->nodes[i];
		n->freq = b->freq;
		n->weight = weight_of(&b->any, b->freq);
		n->way_weight = prog_way_shows(b) ? weight_of(&b->last, b->freq) : INFINITY;
		if (!reached(prog, f->block + i))
			continue;
		if (leaves(b))
			g->edges[at++] = (struct fg_edge){.from = i, .to = g->exit};
		for (uint32_t k = 0; k < b->n_succ && !leaves(b); k++)
			g->edges[at++] = (struct fg_edge){
				.from = i, .to = prog_succs(prog, f->block + i)[k] - f->block};
		if (leaves(b))
			g->nodes[g->exit].freq += b->freq;
	}
	index_edges(g);
	fit_edges(g);
	weigh_edges(g);
	return 0;
}

void flow_graph_deinit(struct flow_graph *g)
{
	free(g->nodes);
	free(g->edges);
	free(g->in_edges);
	*g = (struct flow_graph){0};
}

int witness_set_init(struct witness_set *w, const struct flow_graph *g)
{
	w->nodes = calloc(2 * (size_t)g->n_nodes + g->n_edges + 1, 1);
	if (!w->nodes)
		return -ENOMEM;
	w->ways = w->nodes + g->n_nodes;
	w->edges = w->ways + g->n_nodes;
	return 0;
}

void witness_set_clear(struct witness_set *w, const struct flow_graph *g)
{
	memset(w->nodes, 0, 2 * (size_t)g->n_nodes + g->n_edges);
}

void witness_set_copy(struct witness_set *to, const struct witness_set *from,
		      const struct flow_graph *g)
{
	memcpy(to->nodes, from->nodes, 2 * (size_t)g->n_nodes + g->n_edges);
}

void witness_set_deinit(struct witness_set *w)
{
	free(w->nodes);
	*w = (struct witness_set){0};
}

double witness_set_weight(const struct witness_set *w, const struct flow_graph *g)
{
	double sum = 0;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		sum += w->nodes[i] ? g->nodes[i].weight : 0;
		sum += w->ways[i] ? g->nodes[i].way_weight : 0;
	}
	for (uint32_t i = 0; i < g->n_edges; i++)
		sum += w->edges[i] ? g->edges[i].weight : 0;
	return sum;
}
