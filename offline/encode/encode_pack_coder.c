// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_pack_coder.c: see encode_pack_coder.h. A context has a slot with a probability, which
 * moves the faster the less it has seen; slots are not checked for who else uses them.
 * Probabilities are mixed in the logistic domain (stretch, ln(p/(1-p)) in 8 bits of fraction), by
 * weights that learn from each error. */
#include "offline/encode/encode_pack_coder.h"

#include "offline/base/varint.h"

#include <errno.h>

enum {
	SLOT_BITS = 22,
	SEEN_MAX = 255,
	STRETCH_MAX = 2047,
	WEIGHT_ONE = 1 << 16,
	LEARNING = 6,
	RATE_LEAST = 65536 / 160,
	HALF = 32768,
};

struct slot {
	int16_t p; /* that the bit is 1, in 65536ths, less a half: a new slot is zeros */
	uint16_t seen;
};

struct pack_coder {
	struct slot *slots;
	int32_t weights[PACK_SETS][PACK_CONTEXTS];
	int16_t stretch[4096];
	uint16_t rate[SEEN_MAX + 1];
	uint32_t low, high, x; /* of the arithmetic coder */
	const uint8_t *at, *end;
	bool decodes;
	struct bytes out;
};

/* 4096 / (1 + e^(-d/256)) */
static int squash(int d)
{
	static const int16_t table[33] = {1,	2,    3,    6,	  10,	16,   27,   45,	  73,
					  120,	194,  310,  488,  747,	1101, 1546, 2047, 2549,
					  2994, 3348, 3607, 3785, 3901, 3975, 4024, 4050, 4068,
					  4079, 4085, 4089, 4092, 4093, 4094};
	if (d > STRETCH_MAX)
		return 4095;
	if (d < -STRETCH_MAX)
		return 0;
	int part = d & 127, i = (d >> 7) + 16;
	return (table[i] * (128 - part) + table[i + 1] * part + 64) >> 7;
}

int pack_coder_new(const uint8_t *in, size_t len_bytes, struct pack_coder **out)
{
	struct pack_coder *c = calloc(1, sizeof(*c));
	if (c)
		c->slots = calloc(1u << SLOT_BITS, sizeof(*c->slots));
	if (!c || !c->slots) {
		pack_coder_free(c);
		return -ENOMEM;
	}
	for (int i = 0, d = -STRETCH_MAX; i < 4096; i++) {
		while (d < STRETCH_MAX && squash(d) < i)
			d++;
		c->stretch[i] = (int16_t)d;
	}
	for (int i = 0; i <= SEEN_MAX; i++) { /* 1 / (i + 1.6) */
		int rate = 655360 / (10 * i + 16);
		c->rate[i] = (uint16_t)(rate > RATE_LEAST ? rate : RATE_LEAST);
	}
	for (uint32_t s = 0; s < PACK_SETS; s++)
		for (uint32_t i = 0; i < PACK_CONTEXTS; i++)
			c->weights[s][i] = WEIGHT_ONE * 35 / 100;
	c->high = UINT32_MAX;
	c->decodes = in != NULL;
	c->at = in;
	c->end = in + len_bytes;
	for (int i = 0; i < 4 && in; i++)
		c->x = c->x << 8 | (c->at < c->end ? *c->at++ : 0);
	*out = c;
	return 0;
}

void pack_coder_free(struct pack_coder *c)
{
	if (!c)
		return;
	bytes_deinit(&c->out);
	free(c->slots);
	free(c);
}

/* Codes @bit, which is 1 with a probability of @p / 4096. */
static bool code(struct pack_coder *c, uint32_t p, bool bit)
{
	uint32_t middle = c->low + (uint32_t)((uint64_t)(c->high - c->low) * p >> 12);
	if (c->decodes)
		bit = c->x <= middle;
	if (bit)
		c->high = middle;
	else
		c->low = middle + 1;
	while (!((c->low ^ c->high) >> 24)) {
		uint8_t byte = (uint8_t)(c->high >> 24);
		if (c->decodes)
			c->x = c->x << 8 | (c->at < c->end ? *c->at++ : 0);
		else
			bytes_put(&c->out, &byte, 1);
		c->low <<= 8;
		c->high = c->high << 8 | 255;
	}
	return bit;
}

static void learn(struct pack_coder *c, struct slot *s, bool bit)
{
	int target = bit ? 65535 - HALF : -HALF;
	s->p = (int16_t)(s->p + (((target - s->p) * (int)c->rate[s->seen]) >> 16));
	s->seen += s->seen < SEEN_MAX;
}

bool pack_bit(struct pack_coder *c, const uint64_t *contexts, uint32_t n, uint32_t set, bool bit)
{
	int32_t *weights = c->weights[set];
	struct slot *slots[PACK_CONTEXTS];
	int inputs[PACK_CONTEXTS];
	int64_t sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t h = contexts[i] * UINT64_C(0xd6e8feb86659fd93);
		h ^= h >> 32;
		h *= UINT64_C(0xd6e8feb86659fd93);
		struct slot *s = slots[i] = &c->slots[h >> (64 - SLOT_BITS)];
		int trust = !s->seen ? 0 : s->seen < 3 ? 1 : s->seen < 12 ? 2 : 3;
		inputs[i] = c->stretch[(s->p + HALF) >> 4] * trust / 2;
		sum += (int64_t)inputs[i] * weights[i];
	}
	int64_t dot = sum / WEIGHT_ONE;
	int p = squash(dot > STRETCH_MAX ? STRETCH_MAX : dot < -STRETCH_MAX ? -STRETCH_MAX : dot);
	p = p < 1 ? 1 : p > 4094 ? 4094 : p;
	bit = code(c, (uint32_t)p, bit);
	int error = ((bit << 12) - p) * LEARNING;
	for (uint32_t i = 0; i < n; i++) {
		weights[i] += (inputs[i] * error + 0x2000) >> 14;
		learn(c, slots[i], bit);
	}
	return bit;
}

uint32_t pack_bits(struct pack_coder *c, const uint64_t *contexts, uint32_t n, uint32_t set,
		   uint32_t width, uint32_t value)
{
	uint64_t with[PACK_CONTEXTS];
	uint32_t so_far = 1;
	for (uint32_t b = width; b-- > 0;) {
		for (uint32_t i = 0; i < n; i++)
			with[i] = pack_hash(contexts[i], so_far);
		so_far = so_far << 1 | pack_bit(c, with, n, set + b, value >> b & 1);
	}
	return width < 32 ? so_far - (1u << width) : so_far;
}

uint32_t pack_number(struct pack_coder *c, uint64_t context, uint32_t value)
{
	enum { SET = PACK_SETS - 40 };
	uint64_t kind = pack_hash(context, 0x6e756d);
	uint32_t width = 0;
	while (width < 32 && value >> width)
		width++;
	width = pack_bits(c, &kind, 1, SET, 6, width);
	if (width > 32)
		width = 32;
	if (width < 2)
		return width;
	/* The topmost bit is 1. */
	uint64_t rest = pack_hash(kind, width);
	uint32_t low = value & (uint32_t)((UINT64_C(1) << (width - 1)) - 1);
	low = pack_bits(c, &rest, 1, SET + 6, width - 1, low);
	return (uint32_t)((UINT64_C(1) << (width - 1)) | low);
}

const uint8_t *pack_coder_finish(struct pack_coder *c, size_t *len_bytes)
{
	for (int i = 0; i < 4; i++) {
		uint8_t byte = (uint8_t)(c->high >> 24);
		bytes_put(&c->out, &byte, 1);
		c->high <<= 8;
	}
	*len_bytes = c->out.len;
	return c->out.failed ? NULL : c->out.data;
}
