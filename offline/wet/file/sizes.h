/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sizes.h: what a WET takes, before any compression, after tier one, and after tier two, where each
 * stream is compressed by what does best on it; and how fast its control flow is walked. */
#ifndef OFFLINE_WET_SIZES_H
#define OFFLINE_WET_SIZES_H

#include "offline/wet/file/again_put.h"
#include "offline/wet/graph/graph.h"
#include "offline/wet/again/noting.h"
#include "offline/wet/file/packing.h"
#include "offline/wet/streams/stored.h"

/* By what the bytes of a WET are stored: enum wet_store; or what is needed to execute again. */
enum { WET_KIND_AGAIN = WET_STORES, WET_KINDS };

/* In bytes. */
struct wet_size {
	uint64_t original, tier1, tier2;
};

/* Takes each stream as it is stored, in this order:
 * - of each node its timestamps (if no blocks tell them); of each of its groups the pattern (if
 *   there is more than one tuple) and the values of each statement;
 * - of each edge with labels of its own those of the consumer, and those of the producer;
 * - those of again_put.h. */
struct wet_sink {
	/* 0 or -errno, which ends it. */
	int (*put)(void *ctx, const uint8_t *bytes, size_t len);
	void *ctx;
};

struct wet_sizes {
	/* Of what is executed again tier one is what has to be told for that, before compression.
	 */
	struct wet_size times, values, edges;
	uint64_t of[WET_OFS], again[AGAIN_PARTS]; /* of tier two */
	uint64_t streams, chosen[WET_KINDS];	  /* how many streams; bytes that each has stored */
	uint64_t bytes[WET_KINDS];
	double step_ns[2];			/* of a predictor, of a block */
	uint64_t edge_labels, edge_labels_kept; /* pairs of timestamps */
	/* Executions of nodes that were walked in each direction, from the first one on: 2^20 or
	 * fewer; with blocks, whole ones until there are as many. And how long that took. */
	uint64_t walked;
	double forward_s, backward_s;
	bool walk_right; /* it was the control flow, both ways */
};

/* Compresses all streams; @sink may be NULL. @noted: values are executed again, or NULL. 0,
 * -ENOMEM, or what the sink said. */
int wet_sizes_of(const struct wet_graph *graph, const struct noted *noted,
		 const struct wet_sink *sink, struct wet_sizes *out);

#endif
