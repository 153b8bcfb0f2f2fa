/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* placement.h: where witnesses stand inside one function so that every path through it can be told
 * (realizable.h), at little cost. docs/paths.md says what each placement is and how they compare.
 */
#ifndef OFFLINE_PLACEMENT_H
#define OFFLINE_PLACEMENT_H

#include "offline/place/flow_graph.h"

enum placement {
	PLACE_BLOCKS,  /* every node */
	PLACE_TARGETS, /* every successor of a fork */
	PLACE_EDGES,   /* edges: what a maximum spanning tree leaves over (Ball and Larus) */
	PLACE_NODES,   /* nodes only: FSE'13, Figure 11 */
	PLACE_BEST,    /* nodes and ways */
};

/* Adds to @w, which may hold witnesses that are there anyway, those of @how. Where that kind of
 * witness cannot do (a node that cannot be probed), others are taken. 0 or -ENOMEM; -EDOM where
 * nothing that can be witnessed does: then @w is as good as it gets. */
int placement_choose(const struct flow_graph *g, enum placement how, struct witness_set *w);

/* Replaces the edges in @w, which is realizable, by what a breakpoint can do: the node at an end of
 * the edge where it stands for the edge alone, else the way out of its source, else (neither can
 * be) whatever makes it realizable again. 0, -ENOMEM or -EDOM as above. */
int placement_without_edges(const struct flow_graph *g, struct witness_set *w);

/* Figure 11 of FSE'13 as it is printed, on a graph without witnesses: it neither looks whether its
 * answer is realizable nor improves it. 0 or -ENOMEM. */
int placement_figure_11(const struct flow_graph *g, struct witness_set *w);
/* The edges that a maximum spanning tree leaves over, those that nothing can witness in it first;
 * diamonds and cycles that @w breaks already do not count. 0 or -ENOMEM. */
int placement_spanning_tree(const struct flow_graph *g, struct witness_set *w);

#endif
