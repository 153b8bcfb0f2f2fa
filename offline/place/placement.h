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

/* Adds to @w the witnesses of @how; @w may hold some already. Where that kind of witness cannot
 * stand (a node that cannot be probed), others are taken. 0 or -ENOMEM; -EDOM where no possible
 * witnesses are enough: then @w is as good as it gets. */
int placement_choose(const struct flow_graph *g, enum placement how, struct witness_set *w);

/* Replaces the witnesses on edges in @w, which is realizable, by what a breakpoint can do: one on
 * the node at an end of the edge that only this edge leads to or leaves; else on the way out of its
 * source; else, where neither can be probed, any that make @w realizable again. 0, -ENOMEM or -EDOM
 * as above. */
int placement_without_edges(const struct flow_graph *g, struct witness_set *w);

/* Figure 11 of the FSE 2013 paper as it is printed, on a graph without witnesses: its answer may
 * not be realizable, and is not improved. 0 or -ENOMEM. */
int placement_figure_11(const struct flow_graph *g, struct witness_set *w);
/* The edges that a maximum spanning tree leaves out; those that no witness can stand on go into the
 * tree first. Diamonds and cycles that @w already breaks do not count. 0 or -ENOMEM. */
int placement_spanning_tree(const struct flow_graph *g, struct witness_set *w);

#endif
