/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* graph.h: how the lines of a slice hang together: an edge from the line that made something to the
 * line that read it, and for how many instances of the reader that held. */
#ifndef USER_WHY_GRAPH_H
#define USER_WHY_GRAPH_H

#include "offline/slice/edges.h"
#include "user/why/fold.h"
#include "user/why/lines.h"

struct why_edge {
	uint32_t from, to; /* indices of lines */
	enum slice_edge_kind kind;
	uint64_t times;
	uint64_t reader; /* the last one that was counted */
};

struct why_graph {
	struct why_edge *edges; /* in the order of from, to, kind */
	size_t n, room;
	bool no_memory;
};

/* The edges between the first @n_lines of the lines of @fold, whose members were kept. 0 or
 * -ENOMEM; to be freed in both cases. */
int why_graph_init(struct why_graph *graph, const struct dep_trace *trace, const struct fold *fold,
		   const struct why_line *lines, size_t n_lines, unsigned follow,
		   const struct slice_control *control);
void why_graph_deinit(struct why_graph *graph);
/* "data", "address", "control". */
const char *why_graph_kind(enum slice_edge_kind kind);

#endif
