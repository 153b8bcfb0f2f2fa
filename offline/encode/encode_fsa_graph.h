/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_fsa_graph.h: a deterministic graph of states and arcs that grows, and whose states can be
 * merged. States that two merged states lead to by the same symbol are merged as well, so that it
 * stays deterministic. */
#ifndef OFFLINE_ENCODE_FSA_GRAPH_H
#define OFFLINE_ENCODE_FSA_GRAPH_H

#include "offline/base/vec.h"

struct graph_state {
	uint32_t parent;	    /* itself, or what it was merged into */
	uint32_t first_arc, n_arcs; /* of a state that is not merged into another */
	uint64_t accepted, cut;	    /* sequences that ended or were cut off here */
	bool ends;		    /* one of them ended and was not empty */
};

struct graph_arc {
	uint32_t from, symbol, to; /* `to` may have been merged: graph_find() */
	uint32_t next;		   /* of the same state; 0: the last */
	uint64_t count;
};

struct graph_pair {
	uint32_t a, b;
};

/* A list of arcs, on the heap. */
struct graph_arcs {
	struct graph_arc *at;
	uint32_t n, max;
};

struct fsa_graph {
	VEC(struct graph_state) states;
	VEC(struct graph_arc) arcs; /* 0 is none */
	uint32_t *slots;	    /* arcs by state and symbol; private, as is the rest */
	uint32_t mask, entered;
	VEC(struct graph_pair) merging;
};

/* 0 or -ENOMEM, as the functions below. */
int graph_init(struct fsa_graph *graph);
void graph_deinit(struct fsa_graph *graph);
size_t graph_bytes(const struct fsa_graph *graph);

int graph_add_state(struct fsa_graph *graph, uint32_t *state);
/* What @state has become. */
uint32_t graph_find(const struct fsa_graph *graph, uint32_t state);
/* The arc by @symbol of @from, which must not be merged into another; 0: none. */
uint32_t graph_arc(const struct fsa_graph *graph, uint32_t from, uint32_t symbol);
/* One where there is none. */
int graph_add_arc(struct fsa_graph *graph, uint32_t from, uint32_t symbol, uint32_t to,
		  uint64_t count);
int graph_merge(struct fsa_graph *graph, uint32_t a, uint32_t b);
/* The arcs of @from, which must not be merged into another, by symbol. The list is reused. */
int graph_sorted_arcs(const struct fsa_graph *graph, uint32_t from, struct graph_arcs *out);

/* Merges states that share a @k-tail, until no two do; see encode_fsa.h for @loops. */
int graph_merge_tails(struct fsa_graph *graph, uint32_t k, bool loops);
/* Merges states, all reachable from state 0 and none merged yet, from which the same is accepted
 * and cut off. */
int graph_minimise(struct fsa_graph *graph);

#endif
