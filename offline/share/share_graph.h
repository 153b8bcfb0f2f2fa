/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_graph.h: the graph of one function of a plan as its shares see it: a node for each node of
 * the grammar, one for the entry, one for the exit, one for each decision between several
 * alternatives, and one for *elsewhere*. It has the paper's edges for what may happen more than
 * once: from the exit back to the entry, and through a call that may lead back into the function,
 * to its entry and from its exit (but not where each event says of which activation it is, by its
 * frame). Beyond the paper, each call of ours and the exit lead elsewhere:
 * two ways that both leave the function in silence meet there, and have to be told apart before. So
 * whoever tells a fork does that by its very next event, and nothing needs to be read ahead.
 *
 * What has to be told, a *fork*, is a decision, or a jump that is read where somebody reads it. */
#ifndef OFFLINE_SHARE_SHARE_GRAPH_H
#define OFFLINE_SHARE_SHARE_GRAPH_H

#include "offline/place/realizable.h"

struct share_graph {
	struct flow_graph flow; /* node i is node first + i of the plan; then entry and exit; then
				   the decisions; and elsewhere last */
	uint32_t func, first;
	uint32_t *decisions; /* of the plan, sorted: those that are nodes */
	uint32_t n_decisions;
	uint8_t *told; /* per node: a fork that has to be told */
	uint32_t n_told;
	bool by_frame;	/* each event of the function says by its frame of which activation it is:
			   the graph is of one activation. Else it has the edges of recursion */
	bool recursive; /* a call may lead back into it */
};

/* @recursive: per function its component of the call graph, in which calls that nobody knows lead
 * to all functions that may be entered from anywhere; @anywhere: the component of such calls.
 * @site_ns: what each site costs in a run. 0 or -ENOMEM. */
int share_graph_init(struct share_graph *g, const struct pugmark_plan *plan, uint32_t func,
		     const uint32_t *component, uint32_t anywhere, const float *site_ns);
void share_graph_deinit(struct share_graph *g);
/* Where @decision leads: to its node, to its only alternative, or PUGMARK_NONE: nowhere. */
uint32_t share_graph_after(const struct share_graph *g, const struct pugmark_plan *plan,
			   uint32_t decision);
/* Fills @component, of n_funcs + 1, the last one that of calls that nobody knows.
 * 0 or -ENOMEM. */
int share_components(const struct pugmark_plan *plan, uint32_t *component);

#endif
