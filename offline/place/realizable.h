/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* realizable.h: whether a set of witnesses tells every path through a function's graph from every
 * other: the conditions of "Distributed Program Tracing" (ESEC/FSE 2013), section 3.2 and Theorem
 * 4, for witnesses on nodes, edges and ways alike. It knows nothing of how sets are chosen.
 *
 * The graph's condition: no diamond and no directed cycle is unbroken. A *diamond* is two paths
 * that leave a fork by different edges and meet again at a join (which may be the fork itself). It
 * is broken by a witness on one of its edges, on a node of it that is neither the fork nor the
 * join, on the way out of such a node, and on the way out of the fork. A cycle is broken by any
 * witness on it.
 *
 * The paths' condition: for each fork, the witnesses that can come first after each of its edges
 * (and "none until the exit") are different ones for different edges; and no cycle is silent. */
#ifndef OFFLINE_REALIZABLE_H
#define OFFLINE_REALIZABLE_H

#include "offline/place/flow_graph.h"

enum violation_kind { VIOLATION_NONE, VIOLATION_CYCLE, VIOLATION_DIAMOND };

/* A cycle or diamond that no witness breaks: its edges, of a diamond those of both paths. */
struct violation {
	uint8_t kind;	     /* enum violation_kind */
	uint32_t fork, join; /* of a diamond */
	const uint32_t *edges;
	uint32_t n_edges; /* both borrowed until the next question */
};

struct realizable;

/* From here on only some forks are to be told: checked are their diamonds, and the directed cycles
 * through them. @forks is borrowed, one byte a node; NULL: all forks again. */
void realizable_only(struct realizable *r, const uint8_t *forks);
/* The same for one fork alone. */
bool realizable_fork_told(struct realizable *r, const struct witness_set *w, uint32_t fork,
			  struct violation *violation);

/* For questions about sets over @g, which must outlive it. 0 or -ENOMEM. */
int realizable_new(const struct flow_graph *g, struct realizable **out);
void realizable_free(struct realizable *r);

/* Whether the graph's condition holds; if not, @violation (may be NULL) is one cycle or diamond
 * that is not broken. */
bool realizable_holds(struct realizable *r, const struct witness_set *w,
		      struct violation *violation);
/* The same, where only what runs through @node is in doubt: a witness on it, on its way out or on
 * one of its edges has just been taken away. */
bool realizable_holds_around(struct realizable *r, const struct witness_set *w, uint32_t node,
			     struct violation *violation);
/* Whether the paths' condition holds: the same answer, computed in another way. O(forks *
 * edges). */
bool realizable_witnesses_differ(struct realizable *r, const struct witness_set *w);

#endif
