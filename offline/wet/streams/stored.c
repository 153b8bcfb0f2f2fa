// SPDX-License-Identifier: LGPL-2.1-or-later
/* stored.c: see stored.h. A stream begins with a byte, by what it is stored, and how many values it
 * has; then
 *
 *   a predictor   what wet_stream_save() says
 *   blocks        of each WET_BLOCK values: how compressed (codec.h), its bytes and those
 *                 expanded; then all of them (block.h)
 *   as it is      bytes of a value, and the values
 */
#include "offline/wet/streams/stored.h"

#include "offline/base/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIAL = 1024, BLOCKS_FROM = 256, PREDICTED_MAX = 1 << 24, MEASURED = 5 };

struct wet_packer {
	struct wet_blocks *work;
	struct bytes blocks, heads; /* of the stream in blocks */
	double predictor_ns, block_ns;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best of several times: another program may have been in between. */
static void measure_stream(struct wet_packer *p, struct wet_stream *w)
{
	for (int i = 0; i < MEASURED; i++) {
		uint64_t v;
		double start = now();
		while (wet_stream_next(w, &v))
			;
		while (wet_stream_previous(w, &v))
			;
		double ns = 1e9 * (now() - start) / (2.0 * WET_BLOCK);
		p->predictor_ns = !i || ns < p->predictor_ns ? ns : p->predictor_ns;
	}
}

/* A step is a part of what a block costs. */
static void measure_block(struct wet_packer *p, uint64_t *values)
{
	struct wet_block block = wet_block_pack(p->work, values, WET_BLOCK);
	for (int i = 0; i < MEASURED; i++) {
		double start = now();
		wet_block_unpack(p->work, &block, values, WET_BLOCK);
		double ns = 1e9 * (now() - start) / WET_BLOCK + 1;
		p->block_ns = !i || ns < p->block_ns ? ns : p->block_ns;
	}
}

/* On a stream that both can do: numbers that grow by few different steps. */
static bool measure_steps(struct wet_packer *p)
{
	static const uint8_t steps[] = {1, 1, 4, 1, 7, 1, 4, 2};
	uint64_t *values = malloc(WET_BLOCK * sizeof(*values)), v = 0;
	for (size_t i = 0; values && i < WET_BLOCK; i++)
		values[i] = v += steps[i % sizeof(steps)];
	struct wet_stream *w = values ? wet_stream_new(WET_STRIDE, 4, 4, values, WET_BLOCK) : NULL;
	if (w) {
		measure_stream(p, w);
		measure_block(p, values);
	}
	wet_stream_free(w);
	free(values);
	return w;
}

struct wet_packer *wet_packer_new(void)
{
	struct wet_packer *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->work = wet_blocks_new();
	if (p->work && measure_steps(p))
		return p;
	wet_packer_free(p);
	return NULL;
}

void wet_packer_free(struct wet_packer *p)
{
	if (!p)
		return;
	wet_blocks_free(p->work);
	bytes_deinit(&p->blocks);
	bytes_deinit(&p->heads);
	free(p);
}

struct wet_blocks *wet_packer_blocks(const struct wet_packer *p)
{
	return p->work;
}

void wet_packer_as(struct wet_packer *p, const struct wet_packer *other)
{
	p->predictor_ns = other->predictor_ns;
	p->block_ns = other->block_ns;
}

void wet_packer_steps(const struct wet_packer *p, double *predictor, double *block)
{
	*predictor = p->predictor_ns;
	*block = p->block_ns;
}

static void put_block(struct wet_packer *p, const struct wet_block *block)
{
	bytes_put(&p->heads, &block->kind, 1);
	bytes_put_varint(&p->heads, block->packed);
	bytes_put_varint(&p->heads, block->unpacked);
	bytes_put(&p->blocks, block->at, block->packed);
}

/* To p->heads and p->blocks. Returns their bytes. */
static size_t in_blocks(struct wet_packer *p, const uint64_t *values, size_t n)
{
	p->heads.len = p->blocks.len = 0;
	for (size_t i = 0; i < n; i += WET_BLOCK) {
		struct wet_block block =
			wet_block_pack(p->work, values + i, n - i < WET_BLOCK ? n - i : WET_BLOCK);
		put_block(p, &block);
	}
	return p->heads.len + p->blocks.len;
}

/* What a byte in blocks costs beside one of a predictor: by what a step takes. */
static double cost_of_blocks(const struct wet_packer *p)
{
	return p->block_ns / p->predictor_ns;
}

/* Whether a stream's beginning says that no predictor comes near the blocks. Each has a bit a value
 * at least. *@best: the one that is best there, unless it says so. */
static bool is_for_blocks(struct wet_packer *p, const uint64_t *values, size_t n,
			  struct wet_choice *best, bool *no_memory)
{
	double blocks =
		n < 2 * TRIAL ? 0 : 2 * cost_of_blocks(p) * (double)in_blocks(p, values, TRIAL);
	if (n > PREDICTED_MAX || (n >= 2 * TRIAL && blocks < (double)TRIAL / 8))
		return true;
	*no_memory |= !wet_stream_choose(values, n < TRIAL ? n : TRIAL, best);
	return !*no_memory && n >= 2 * TRIAL && blocks < (double)best->bits / 8;
}

static unsigned bytes_of(uint64_t value)
{
	unsigned width = 1;
	while (width < 8 && value >> 8 * width)
		width++;
	return width;
}

static unsigned width_of(const uint64_t *values, size_t n)
{
	uint64_t all = 0;
	for (size_t i = 0; i < n; i++)
		all |= values[i];
	return bytes_of(all);
}

static void put_raw(const uint64_t *values, size_t n, unsigned width, struct bytes *to)
{
	uint8_t byte = (uint8_t)width;
	bytes_put(to, &byte, 1);
	for (size_t i = 0; i < n; i++)
		bytes_put(to, &values[i], width); /* as x86-64 has it: the lowest byte first */
}

bool wet_packer_put(struct wet_packer *p, const uint64_t *values, size_t n, struct bytes *to,
		    enum wet_store *store)
{
	bool no_memory = false;
	struct wet_choice choice;
	bool predicted = n > 2 && !is_for_blocks(p, values, n, &choice, &no_memory) && !no_memory;
	unsigned width = width_of(values, n);
	size_t best = n * width + 1;
	struct bytes saved = {0};
	*store = WET_STORE_RAW;
	struct wet_stream *w = predicted ? wet_stream_chosen(&choice, values, n) : NULL;
	no_memory |= predicted && !w;
	if (w)
		wet_stream_save(w, &saved);
	if (w && saved.len < best) {
		best = saved.len;
		*store = (enum wet_store)wet_stream_predictor(w, NULL);
	}
	wet_stream_free(w);
	if (n >= BLOCKS_FROM && !no_memory) {
		/* Where it wins on size times the cost of a step. */
		double cost = *store == WET_STORE_RAW ? 1 : cost_of_blocks(p);
		if ((double)in_blocks(p, values, n) * cost < (double)best)
			*store = WET_STORE_BLOCKS;
	}
	uint8_t byte = *store;
	bytes_put(to, &byte, 1);
	bytes_put_varint(to, n);
	if (*store == WET_STORE_BLOCKS) {
		bytes_put(to, p->heads.data, p->heads.len);
		bytes_put(to, p->blocks.data, p->blocks.len);
	} else if (*store == WET_STORE_RAW) {
		put_raw(values, n, width, to);
	} else {
		bytes_put(to, saved.data, saved.len);
	}
	no_memory |= saved.failed || to->failed || p->heads.failed || p->blocks.failed;
	bytes_deinit(&saved);
	return !no_memory;
}

/* Puts what stands in @blocks. */
static bool put_blocks(struct wet_packer *p, const struct wet_block *blocks, size_t n,
		       struct bytes *to)
{
	uint8_t byte = WET_STORE_BLOCKS;
	p->heads.len = p->blocks.len = 0;
	for (size_t i = 0; i < n; i += WET_BLOCK)
		put_block(p, &blocks[i / WET_BLOCK]);
	bytes_put(to, &byte, 1);
	bytes_put_varint(to, n);
	bytes_put(to, p->heads.data, p->heads.len);
	bytes_put(to, p->blocks.data, p->blocks.len);
	return !p->heads.failed && !p->blocks.failed && !to->failed;
}

bool wet_packer_put_blocks(struct wet_packer *p, const struct wet_block *blocks, size_t n,
			   struct bytes *to, enum wet_store *store)
{
	uint64_t all = 0, trial[TRIAL];
	size_t bytes = 0, part = n < WET_BLOCK ? n : WET_BLOCK;
	bool fine = true, no_memory = false;
	for (size_t i = 0; i < n; i += WET_BLOCK) {
		const struct wet_block *b = &blocks[i / WET_BLOCK];
		all |= b->all;
		bytes += b->packed + 7;
	}
	struct wet_choice choice;
	bool predicts = n < 2 * TRIAL;
	if (!predicts) {
		fine = wet_block_unpack(p->work, &blocks[0], trial, TRIAL);
		predicts = fine && !is_for_blocks(p, trial, n, &choice, &no_memory);
	}
	if (!fine || no_memory)
		return false;
	if (!predicts && bytes < n * bytes_of(all)) {
		*store = WET_STORE_BLOCKS;
		return put_blocks(p, blocks, n, to);
	}
	uint64_t *values = malloc(n * sizeof(*values) + 1);
	for (size_t i = 0; values && fine && i < n; i += part) {
		part = n - i < WET_BLOCK ? n - i : WET_BLOCK;
		fine = wet_block_unpack(p->work, &blocks[i / WET_BLOCK], values + i, part);
	}
	fine = fine && values && wet_packer_put(p, values, n, to, store);
	free(values);
	return fine;
}

/* --- reading --------------------------------------------------------------------------------- */

struct wet_cursor {
	uint64_t length, position;
	struct wet_stream *stream; /* of a predictor; else NULL */
	const uint8_t *raw;	   /* as it is; else NULL */
	unsigned width;
	struct wet_block *blocks;
	struct wet_blocks *work;
	uint64_t *values; /* of block @open; NONE: none */
	uint64_t open;
};

#define NONE UINT64_MAX

void wet_cursor_free(struct wet_cursor *c)
{
	if (!c)
		return;
	wet_stream_free(c->stream);
	wet_blocks_free(c->work);
	free(c->blocks);
	free(c->values);
	free(c);
}

static int open_raw(struct wet_cursor *c, struct cursor *in)
{
	uint8_t width;
	if (!cursor_byte(in, &width) || !width || width > 8 ||
	    (uint64_t)(in->end - in->at) / width != c->length ||
	    (uint64_t)(in->end - in->at) % width)
		return -EBADMSG;
	c->raw = in->at;
	c->width = width;
	return 0;
}

static int open_blocks(struct wet_cursor *c, struct cursor *in)
{
	uint64_t n = c->length / WET_BLOCK + (c->length % WET_BLOCK != 0);
	if (n > (uint64_t)(in->end - in->at))
		return -EBADMSG; /* each has a head */
	c->open = NONE;
	c->work = wet_blocks_new();
	c->blocks = calloc(n + 1, sizeof(*c->blocks));
	c->values = malloc(WET_BLOCK * sizeof(*c->values));
	if (!c->work || !c->blocks || !c->values)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t packed, unpacked;
		struct wet_block *b = &c->blocks[i];
		if (!cursor_byte(in, &b->kind) || !cursor_varint(in, &packed) ||
		    !cursor_varint(in, &unpacked) || packed > (uint64_t)(in->end - in->at) ||
		    unpacked > WET_BLOCK_BYTES_MAX)
			return -EBADMSG;
		if (!codec_known(b->kind))
			return -ENOTSUP;
		b->packed = (uint32_t)packed;
		b->unpacked = (uint32_t)unpacked;
	}
	for (uint64_t i = 0; i < n; i++) {
		c->blocks[i].at = in->at;
		if (c->blocks[i].packed > (uint64_t)(in->end - in->at))
			return -EBADMSG;
		in->at += c->blocks[i].packed;
	}
	return in->at == in->end ? 0 : -EBADMSG;
}

int wet_cursor_open(const uint8_t *bytes, size_t len, struct wet_cursor **out)
{
	struct cursor in = {bytes, bytes + len};
	struct wet_cursor *c = calloc(1, sizeof(*c));
	uint8_t store;
	*out = NULL;
	if (!c)
		return -ENOMEM;
	int err = cursor_byte(&in, &store) && store < WET_STORES && cursor_varint(&in, &c->length)
			  ? 0
			  : -EBADMSG;
	if (!err && store == WET_STORE_RAW)
		err = open_raw(c, &in);
	else if (!err && store == WET_STORE_BLOCKS)
		err = open_blocks(c, &in);
	else if (!err)
		err = wet_stream_load((enum wet_predictor)store, c->length, in.at,
				      (size_t)(in.end - in.at), &c->stream);
	if (err) {
		wet_cursor_free(c);
		return err;
	}
	*out = c;
	return 0;
}

/* Value @i of a stream in blocks. */
static bool block_value(struct wet_cursor *c, uint64_t i, uint64_t *value)
{
	if (c->open != i / WET_BLOCK) {
		uint64_t left = c->length - i / WET_BLOCK * WET_BLOCK;
		c->open = NONE;
		if (!wet_block_unpack(c->work, &c->blocks[i / WET_BLOCK], c->values,
				      left < WET_BLOCK ? left : WET_BLOCK))
			return false;
		c->open = i / WET_BLOCK;
	}
	*value = c->values[i % WET_BLOCK];
	return true;
}

static bool value_at(struct wet_cursor *c, uint64_t i, uint64_t *value)
{
	if (c->blocks)
		return block_value(c, i, value);
	*value = 0;
	memcpy(value, c->raw + i * c->width, c->width);
	return true;
}

uint64_t wet_cursor_length(const struct wet_cursor *c)
{
	return c->length;
}

uint64_t wet_cursor_position(const struct wet_cursor *c)
{
	return c->stream ? wet_stream_position(c->stream) : c->position;
}

bool wet_cursor_next(struct wet_cursor *c, uint64_t *value)
{
	if (c->stream)
		return wet_stream_next(c->stream, value);
	return c->position < c->length && value_at(c, c->position, value) && ++c->position;
}

bool wet_cursor_previous(struct wet_cursor *c, uint64_t *value)
{
	if (c->stream)
		return wet_stream_previous(c->stream, value);
	if (!c->position || !value_at(c, c->position - 1, value))
		return false;
	c->position--;
	return true;
}

bool wet_cursor_seek(struct wet_cursor *c, uint64_t position)
{
	uint64_t v;
	if (position > c->length)
		return false;
	while (c->stream && wet_stream_position(c->stream) < position)
		if (!wet_stream_next(c->stream, &v))
			return false;
	while (c->stream && wet_stream_position(c->stream) > position)
		if (!wet_stream_previous(c->stream, &v))
			return false;
	c->position = position;
	return true;
}
