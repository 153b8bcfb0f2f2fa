/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* edges.h: the dependences between the instances of a slice: which of them read what which other
 * one has made. A slice tells its instances alone; one more scan, forward, tells how they hang
 * together. */
#ifndef OFFLINE_SLICE_EDGES_H
#define OFFLINE_SLICE_EDGES_H

#include "offline/slice/control.h"

/* The instances of a slice: a bit an instruction by its count, a bit an event by its index. */
struct slice_members {
	uint64_t *insns, *events;
};

/* Room for the instances of @trace. 0 or -ENOMEM; to be freed in both cases. */
int slice_members_init(struct slice_members *members, const struct dep_trace *trace);
void slice_members_add(struct slice_members *members, const struct dep_trace *trace,
		       const struct slice_step *step);
void slice_members_deinit(struct slice_members *members);

enum slice_edge_kind { SLICE_EDGE_DATA, SLICE_EDGE_ADDRESS, SLICE_EDGE_CONTROL };

/* The caller's number for an instance, from 1 on; 0: the instance is of no interest. Only @count,
 * @ip, @insn and @event of @step are set. */
typedef uint32_t slice_node_fn(void *ctx, const struct slice_step *step);
/* Instance number @reader (counted from 1 in the order of execution), of node @to, depends on an
 * instance of node @from. The same edge may be told several times for one reader. */
typedef void slice_edge_fn(void *ctx, uint32_t from, uint32_t to, enum slice_edge_kind kind,
			   uint64_t reader);

/* Tells all edges between @members, in the order of execution. Addresses are edges where @follow
 * (enum slice_follow) says so, control where @control is not NULL. 0 or -ENOMEM. */
int slice_edges(const struct dep_trace *trace, const struct slice_members *members, unsigned follow,
		const struct slice_control *control, slice_node_fn *node, slice_edge_fn *edge,
		void *ctx);

#endif
