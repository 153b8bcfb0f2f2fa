/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flow_graph.h: the control-flow graph of one function as the placement of witnesses sees it:
 * nodes, edges, what a witness on each would cost in a run, and a set of witnesses.
 *
 * A witness stands on a *node* (it says "this ran"), on an *edge* ("this way was taken"; an
 * instrumenting compiler can have such, a breakpoint cannot), or on a node's *way out* ("this ran,
 * and left by that edge": a conditional jump read with its flags, an indirect one with its target).
 */
#ifndef OFFLINE_FLOW_GRAPH_H
#define OFFLINE_FLOW_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "offline/program/program.h"

struct fg_node {
	uint32_t out, n_out; /* its edges: graph->edges[out .. out + n_out) */
	uint32_t in, n_in;   /* those that lead to it: graph->in_edges[in .. in + n_in) */
	float weight;	     /* of a witness on the node: expected cost; INFINITY: cannot be */
	float way_weight;    /* of one on its way out; INFINITY: cannot be */
	float freq;	     /* expected executions */
};

struct fg_edge {
	uint32_t from, to;
	float weight; /* of a witness on the edge */
	float freq;
};

struct flow_graph {
	struct fg_node *nodes;
	struct fg_edge *edges; /* by from */
	uint32_t *in_edges;
	uint32_t n_nodes, n_edges;
	uint32_t entry, exit; /* nodes; exit is where every return leads to, or PUGMARK_NONE */
};

/* A set of witnesses, one byte each: not 0 if it is in. */
struct witness_set {
	uint8_t *nodes, *edges, *ways;
};

/* Makes a graph of @n_edges edges given as from, to pairs in any order, with all weights and
 * frequencies 1 and no witness on ways. 0 or -ENOMEM; the caller releases. */
int flow_graph_init(struct flow_graph *g, uint32_t n_nodes, const uint32_t (*pairs)[2],
		    uint32_t n_edges, uint32_t entry, uint32_t exit);
/* The graph of @func: node i is block i of the function, one more is the exit. Blocks that are not
 * reached have no edges. Weights are frequency times cost of the cheapest fitting instruction. */
int flow_graph_of_function(struct flow_graph *g, const struct program *prog, uint32_t func);
void flow_graph_deinit(struct flow_graph *g);

int witness_set_init(struct witness_set *w, const struct flow_graph *g);
void witness_set_clear(struct witness_set *w, const struct flow_graph *g);
void witness_set_copy(struct witness_set *to, const struct witness_set *from,
		      const struct flow_graph *g);
void witness_set_deinit(struct witness_set *w);
/* The sum of the weights of what is in @w. */
double witness_set_weight(const struct witness_set *w, const struct flow_graph *g);

static inline bool fg_is_fork(const struct flow_graph *g, uint32_t node)
{
	return g->nodes[node].n_out > 1;
}

static inline bool fg_is_join(const struct flow_graph *g, uint32_t node)
{
	return g->nodes[node].n_in > 1;
}

/* Whether to run through @node shows. */
static inline bool witness_on_node(const struct witness_set *w, uint32_t node)
{
	return w->nodes[node] || w->ways[node];
}

#endif
