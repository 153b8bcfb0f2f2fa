/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* again_put.h: what is needed to execute a WET's values and dependences again, as streams behind
 * all others: the pages of code; then of each block what again.h says, how often each node was
 * executed in it, what flow.h says, which is their timestamps, and what unforeseen.h says. */
#ifndef OFFLINE_WET_AGAIN_PUT_H
#define OFFLINE_WET_AGAIN_PUT_H

#include "offline/wet/graph/graph.h"
#include "offline/wet/again/noting.h"

/* A buffer as a stream: how compressed (codec.h), its length, and what is left of it. False: out of
 * memory. */
bool again_put_bytes(const void *bytes, size_t len, struct bytes *to);
/* The buffer that a stream of @len bytes is, to be freed; NULL, with *@err: it is none (-EBADMSG),
 * is longer than @most, the build lacks the codec (-ENOTSUP), or memory is out. */
uint8_t *again_take_bytes(const uint8_t *bytes, size_t len, size_t most, size_t *out_len, int *err);

enum again_part {
	AGAIN_CODE,
	AGAIN_BLOCK,
	AGAIN_EXECUTIONS,
	AGAIN_PATHS,
	AGAIN_UNFORESEEN,
	AGAIN_PARTS
};
enum { AGAIN_STREAMS = AGAIN_PARTS - 1 }; /* of a block */

/* Hands on each stream. 0, -ENOMEM, or what @put said. */
int again_put(const struct wet_graph *graph, const struct noted *noted,
	      int (*put)(void *ctx, enum again_part part, const uint8_t *bytes, size_t len),
	      void *ctx);

#endif
