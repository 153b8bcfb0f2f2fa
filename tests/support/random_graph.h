/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* random_graph.h: random control-flow graphs, walks through them, and what can be told of a walk
 * from its witnesses alone. */
#ifndef TESTS_RANDOM_GRAPH_H
#define TESTS_RANDOM_GRAPH_H

#include "offline/place/realizable.h"

/* A graph of about @size nodes whose frequencies obey Kirchhoff's law: those of some random walks
 * from the entry to the exit. Some nodes have no way out to witness, a few cannot be witnessed at
 * all; irreducible loops and edges straight to a join come by chance. */
void random_graph(struct flow_graph *g, uint64_t seed, uint32_t size);
/* Walks from the entry, at random, at most @limit steps; writes down what the witnesses say, and
 * recovers the walk from that alone, by trying at each fork which way can show the next witness.
 * Returns whether exactly one way could, each time, and it was the walk's. */
bool graph_walk_recovers(const struct flow_graph *g, const struct witness_set *w, uint64_t *rng,
			 uint32_t limit, uint64_t *steps, uint64_t *events);
/* Whether @v is what it claims: a silent cycle, or two silent paths from one fork to one join. */
bool graph_violation_is_silent(const struct flow_graph *g, const struct witness_set *w,
			       const struct violation *v);
/* Whether the undirected graph has no cycle once the edges in @without are gone. */
bool graph_is_forest_without(const struct flow_graph *g, const uint8_t *without);

#endif
