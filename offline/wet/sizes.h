/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sizes.h: what a WET takes, before any compression, after tier one, and after tier two, where each
 * stream is compressed by what does best on it; and how fast its control flow is walked. */
#ifndef OFFLINE_WET_SIZES_H
#define OFFLINE_WET_SIZES_H

#include "offline/wet/graph.h"

/* In bytes. */
struct wet_size {
	uint64_t original, tier1, tier2;
};

/* What a stream was stored by. */
enum wet_store {
	WET_STORE_RAW = 4, /* 0 to 3: enum wet_predictor */
	WET_STORE_BLOCKS,  /* differences, compressed in blocks with an index */
	WET_STORES,
};

struct wet_sizes {
	struct wet_size times, values, edges;
	uint64_t streams, chosen[WET_STORES]; /* how many streams; bytes that each has stored */
	uint64_t bytes[WET_STORES];
	double step_ns[2];			/* of a predictor, of a block; 0: not measured */
	uint64_t edge_labels, edge_labels_kept; /* pairs of timestamps */
	uint64_t walked;			/* nodes, in each direction */
	double forward_s, backward_s;		/* of all node timestamps, compressed */
	bool walk_right;			/* it was the control flow, both ways */
};

/* 0 or -ENOMEM. */
int wet_sizes_of(const struct wet_graph *graph, struct wet_sizes *out);

#endif
