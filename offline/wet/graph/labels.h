/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* labels.h: dependence edges of a WET and their labels, pairs of timestamps (section 3.3 of the WET
 * paper). Timestamps are those of a node: how often it was executed before. An edge within a node
 * that was there in every execution, from the same one, needs no label; edges between the same two
 * nodes with the same labels share them. */
#ifndef OFFLINE_WET_LABELS_H
#define OFFLINE_WET_LABELS_H

#include "offline/wet/streams/growing.h"

#define WET_CONTROL 511

/* Two lines of the cache, of which one does while it has no labels of its own. */
struct wet_edge {
	_Alignas(64) uint32_t to; /* statements: consumer */
	uint32_t from;		  /* and producer */
	uint32_t to_node, from_node;
	uint32_t operand; /* of the consumer: a register, memory, or WET_CONTROL: who decided */
	bool inferred;	  /* no label: in every execution of its node, from the same one */
	uint32_t follows; /* while it is made: 1 + an edge whose first labels are all of its own */
	uint32_t shares;  /* 1 + the edge whose labels are this one's; 0: its own */
	uint64_t n;	  /* instances */
	uint32_t last[2]; /* its last label */
	struct wet_growing times[2]; /* its own labels: of the consumer, of the producer */
};

_Static_assert(sizeof(struct wet_edge) == 128, "see above");

/* An edge that got labels of its own in the execution that is being told. Those before, @n, are the
 * first of edge @like - 1, or (0) those of an inferred edge. */
struct wet_parted {
	uint32_t edge, like;
	uint64_t n;
};

enum { WET_PARTED_MAX = 64 };

struct wet_edges {
	struct wet_press *press; /* borrowed */
	bool counts; /* instances of data dependences have no labels, and are counted alone */
	struct wet_edge *at;
	uint32_t n, room;
	uint32_t *slots; /* a hash table of edges + 1, by consumer, operand and producer */
	uint32_t n_slots;
	struct wet_parted parted[WET_PARTED_MAX];
	uint32_t n_parted, parted_node, parted_time; /* of that execution of that node */
};

void wet_edges_deinit(struct wet_edges *edges);
/* One instance: statement @to of the execution @to_time of its node has read operand @operand of
 * what statement @from made in execution @from_time. @last: which edge it was the last time, plus
 * one, which is most often the one again; 0: none. False: out of memory. */
bool wet_edges_add(struct wet_edges *edges, const struct wet_edge *edge, uint32_t to_time,
		   uint32_t from_time, uint32_t *last);
/* One more of edge @number. */
bool wet_edges_again(struct wet_edges *edges, uint32_t number, uint32_t to_time,
		     uint32_t from_time);
/* Gives up labels that are inferred or shared: @executions has how often each node was executed. */
bool wet_edges_finish(struct wet_edges *edges, const uint32_t *executions);
/* Pairs that are kept as the edge's own. */
static inline uint64_t wet_edge_labels(const struct wet_edge *e)
{
	return e->times[0].n;
}

#endif
