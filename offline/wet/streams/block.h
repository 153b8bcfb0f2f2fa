/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* block.h: up to WET_BLOCK values of a stream as a block: of each its difference to the one before
 * (of the first, to 0) as a varint; and these bytes compressed (codec.h). */
#ifndef OFFLINE_WET_BLOCK_H
#define OFFLINE_WET_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WET_BLOCK = 4096, WET_BLOCK_BYTES_MAX = 10 * WET_BLOCK };

struct wet_block {
	const uint8_t *at;
	uint32_t packed, unpacked; /* bytes, as it is stored and expanded */
	uint8_t kind;		   /* codec.h */
	uint64_t all;		   /* each bit that some value has; not of one that was read */
};

/* Memory to work in, for one thread. */
struct wet_blocks;

struct wet_blocks *wet_blocks_new(void);
void wet_blocks_free(struct wet_blocks *blocks);
/* The bytes are borrowed until the next call. Cannot fail. */
struct wet_block wet_block_pack(struct wet_blocks *blocks, const uint64_t *values, size_t n);
struct wet_block wet_block_pack_words(struct wet_blocks *blocks, const uint32_t *values, size_t n);
/* Expands the @n values of @block. False: it cannot be read. */
bool wet_block_unpack(struct wet_blocks *blocks, const struct wet_block *block, uint64_t *values,
		      size_t n);

#endif
