/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stored.h: a stream of a WET as it stands in a file: by the predictor that did best on its
 * beginning, in blocks with an index where these win on size times the cost of a step, or as it is.
 * Read again, it is walked in both directions, and never expanded as a whole. */
#ifndef OFFLINE_WET_STORED_H
#define OFFLINE_WET_STORED_H

#include "offline/base/varint.h"
#include "offline/wet/streams/block.h"
#include "offline/wet/streams/stream.h"

/* What a stream was stored by. */
enum wet_store {
	WET_STORE_RAW = 4, /* 0 to 3: enum wet_predictor */
	WET_STORE_BLOCKS,  /* differences, compressed in blocks with an index */
	WET_STORES,
};

/* Memory to work in, and what a step has been seen to take. */
struct wet_packer;

struct wet_packer *wet_packer_new(void);
void wet_packer_free(struct wet_packer *packer);
/* Appends @n values to @to; *@store: by what they were stored. False: out of memory. */
bool wet_packer_put(struct wet_packer *packer, const uint64_t *values, size_t n, struct bytes *to,
		    enum wet_store *store);
/* The same of @n values that stand in blocks: they are expanded only where something else may win,
 * and of more than 2^24 nothing else is tried. */
bool wet_packer_put_blocks(struct wet_packer *packer, const struct wet_block *blocks, size_t n,
			   struct bytes *to, enum wet_store *store);
/* Its memory, borrowed until it is used next. */
struct wet_blocks *wet_packer_blocks(const struct wet_packer *packer);
/* Takes what steps cost from @other, so that both choose alike. */
void wet_packer_as(struct wet_packer *packer, const struct wet_packer *other);
/* ns of a step of a predictor and of a block. */
void wet_packer_steps(const struct wet_packer *packer, double *predictor, double *block);

/* Stands between two values, as a wet_stream. */
struct wet_cursor;

/* The stream that the @len bytes at @bytes are, which stay there; the cursor is at its start.
 * Returns 0, -EBADMSG: they are none, -ENOTSUP: this build lacks the codec, or -ENOMEM. */
int wet_cursor_open(const uint8_t *bytes, size_t len, struct wet_cursor **out);
void wet_cursor_free(struct wet_cursor *cursor);
uint64_t wet_cursor_length(const struct wet_cursor *cursor);
uint64_t wet_cursor_position(const struct wet_cursor *cursor);
/* Passes one value and gives it. False: there is none, or its block cannot be read. */
bool wet_cursor_next(struct wet_cursor *cursor, uint64_t *value);
bool wet_cursor_previous(struct wet_cursor *cursor, uint64_t *value);
/* Goes to where @position values are on the left: step by step, but in blocks at once. False: there
 * are not so many. */
bool wet_cursor_seek(struct wet_cursor *cursor, uint64_t position);

#endif
