// SPDX-License-Identifier: LGPL-2.1-or-later
/* block.c: see block.h. */
#include "offline/wet/streams/block.h"

#include "offline/base/codec.h"
#include "offline/base/varint.h"

#include <stdlib.h>

struct wet_blocks {
	struct codec *codec;
	uint8_t *packed, *unpacked;
};

struct wet_blocks *wet_blocks_new(void)
{
	struct wet_blocks *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->codec = codec_new();
	b->unpacked = malloc(WET_BLOCK_BYTES_MAX);
	b->packed = malloc(codec_bound(WET_BLOCK_BYTES_MAX));
	if (b->codec && b->unpacked && b->packed)
		return b;
	wet_blocks_free(b);
	return NULL;
}

void wet_blocks_free(struct wet_blocks *b)
{
	if (!b)
		return;
	codec_free(b->codec);
	free(b->packed);
	free(b->unpacked);
	free(b);
}

static inline uint8_t *put_difference(uint8_t *out, uint64_t difference)
{
	uint64_t z = zigzag((int64_t)difference);
	for (; z > 127; z >>= 7)
		*out++ = (uint8_t)(z | 128);
	*out++ = (uint8_t)z;
	return out;
}

static struct wet_block compress(struct wet_blocks *b, const uint8_t *end, uint64_t all)
{
	struct wet_block block = {
		.at = b->packed, .unpacked = (uint32_t)(end - b->unpacked), .all = all};
	block.packed = (uint32_t)codec_compress(b->codec, b->unpacked, block.unpacked, b->packed,
						&block.kind);
	return block;
}

struct wet_block wet_block_pack(struct wet_blocks *b, const uint64_t *values, size_t n)
{
	uint64_t before = 0, all = 0;
	uint8_t *out = b->unpacked;
	for (size_t i = 0; i < n; before = values[i++]) {
		out = put_difference(out, values[i] - before);
		all |= values[i];
	}
	return compress(b, out, all);
}

struct wet_block wet_block_pack_words(struct wet_blocks *b, const uint32_t *values, size_t n)
{
	uint64_t before = 0;
	uint32_t all = 0;
	uint8_t *out = b->unpacked;
	for (size_t i = 0; i < n; before = values[i++]) {
		out = put_difference(out, values[i] - before);
		all |= values[i];
	}
	return compress(b, out, all);
}

bool wet_block_unpack(struct wet_blocks *b, const struct wet_block *block, uint64_t *values,
		      size_t n)
{
	struct cursor in = {b->unpacked, b->unpacked + block->unpacked};
	uint64_t before = 0, z;
	if (block->unpacked > WET_BLOCK_BYTES_MAX ||
	    codec_expand(b->codec, block->kind, block->at, block->packed, b->unpacked,
			 block->unpacked))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!cursor_varint(&in, &z))
			return false;
		values[i] = before += (uint64_t)unzigzag(z);
	}
	return true;
}
