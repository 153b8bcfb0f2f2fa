/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* packing.h: all streams of a WET stored (stored.h), on several processors; they come out in the
 * order of struct wet_sink (sizes.h). */
#ifndef OFFLINE_WET_PACKING_H
#define OFFLINE_WET_PACKING_H

#include "offline/wet/graph/graph.h"
#include "offline/wet/streams/stored.h"

/* Of what a stream is; from WET_OF_REGISTERS on labels of dependences by that. */
enum wet_stream_of {
	WET_OF_TIMES,
	WET_OF_VALUES,
	WET_OF_REGISTERS,
	WET_OF_MEMORY,
	WET_OF_CONTROL,
	WET_OFS
};

/* Takes a stored stream; not 0: -errno, which ends it. */
typedef int wet_packed_fn(void *ctx, enum wet_stream_of of, enum wet_store store,
			  const struct bytes *stored);

/* Returns 0, -ENOMEM, or what @take said; ns of a step of a predictor and of a block to @steps. */
int wet_pack(const struct wet_graph *graph, wet_packed_fn *take, void *ctx, double steps[2]);

#endif
