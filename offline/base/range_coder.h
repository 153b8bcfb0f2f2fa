/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* range_coder.h: writes bits at less than a bit each where they can be foreseen, and reads them
 * back: a range coder over 64 bits that moves by 32, with probabilities that learn. The same
 * function codes and decodes: it takes the value to write, and returns the value. A decoder that
 * reads past the end finds zeros. */
#ifndef OFFLINE_RANGE_CODER_H
#define OFFLINE_RANGE_CODER_H

#include "offline/base/varint.h"

/* The probability that the next bit is 1, in 65536ths. The fewer bits it has seen, the faster it
 * moves. */
struct bit_odds {
	uint16_t p, seen;
};
#define BIT_ODDS_EVEN ((struct bit_odds){.p = 1 << 15})

enum { BIT_SEEN_MAX = 64, BIT_ODDS_LEAST = 24, NUMBER_ODDS = 128 + 4 * 65 };

struct range_coder {
	uint64_t low; /* encoding: of what is left of the range */
	uint64_t range;
	uint64_t code; /* decoding: where in the range the input is */
	struct bytes *out;
	struct cursor in;
	const uint16_t *rates;
};

/* 65536 / (i + 1.6) */
static inline void range_rates(uint16_t rates[BIT_SEEN_MAX + 1])
{
	for (uint32_t i = 0; i <= BIT_SEEN_MAX; i++)
		rates[i] = (uint16_t)(655360 / (10 * i + 16));
}

static inline uint32_t range_word(struct range_coder *c)
{
	uint32_t word = 0;

	if (c->in.end - c->in.at >= 4) {
		memcpy(&word, c->in.at, 4);
		c->in.at += 4;
		return __builtin_bswap32(word);
	}
	for (int i = 0; i < 4; i++)
		word = word << 8 | (c->in.at < c->in.end ? *c->in.at++ : 0u);
	return word;
}

static inline void range_encoder_init(struct range_coder *c, struct bytes *out,
				      const uint16_t *rates)
{
	*c = (struct range_coder){.range = UINT64_MAX, .out = out, .rates = rates};
}

static inline void range_decoder_init(struct range_coder *c, struct cursor in,
				      const uint16_t *rates)
{
	*c = (struct range_coder){.range = UINT64_MAX, .in = in, .rates = rates};
	c->code = range_word(c);
	c->code = c->code << 32 | range_word(c);
}

/* Adds one to the last byte written, and carries. */
static inline void range_carry(struct bytes *out)
{
	for (size_t i = out->len; i-- > 0 && !++out->data[i];)
		;
}

static inline void range_put_word(struct range_coder *c)
{
	uint32_t word = __builtin_bswap32((uint32_t)(c->low >> 32));

	bytes_put(c->out, &word, 4);
	c->low <<= 32;
}

static inline __attribute__((always_inline)) bool range_split(struct range_coder *c, bool decodes,
							      uint64_t bound, bool bit)
{
	if (decodes)
		bit = c->code < bound;
	if (bit) {
		c->range = bound;
	} else {
		c->range -= bound;
		if (decodes)
			c->code -= bound;
		else if (__builtin_add_overflow(c->low, bound, &c->low))
			range_carry(c->out);
	}
	if (c->range >> 32)
		return bit;
	c->range <<= 32;
	if (decodes)
		c->code = c->code << 32 | range_word(c);
	else
		range_put_word(c);
	return bit;
}

static inline __attribute__((always_inline)) bool range_bit(struct range_coder *c, bool decodes,
							    struct bit_odds *odds, bool bit)
{
	bit = range_split(c, decodes, (c->range >> 16) * odds->p, bit);
	int p = odds->p + (((bit ? 65535 : 0) - odds->p) * (int)c->rates[odds->seen] >> 16);

	odds->p = (uint16_t)(p < BIT_ODDS_LEAST		  ? BIT_ODDS_LEAST
			     : p > 65536 - BIT_ODDS_LEAST ? 65536 - BIT_ODDS_LEAST
							  : p);
	odds->seen += odds->seen < BIT_SEEN_MAX;
	return bit;
}

/* Codes @width bits, at most 64, as they are: nothing is known of them. */
static inline uint64_t range_raw(struct range_coder *c, bool decodes, uint32_t width, uint64_t v)
{
	uint64_t got = 0;

	while (width-- > 0)
		got = got << 1 | range_split(c, decodes, c->range >> 1, v >> width & 1);
	return got;
}

/* A number below 2^@width, its highest bit first. @odds: 2^@width of them. */
static inline uint32_t range_bits(struct range_coder *c, bool decodes, struct bit_odds *odds,
				  uint32_t width, uint32_t v)
{
	uint32_t at = 1;

	for (uint32_t i = width; i-- > 0;)
		at = at << 1 | range_bit(c, decodes, &odds[at], v >> i & 1);
	return at - (1u << width);
}

/* Codes a number, a small one in few bits: its length, then the two bits below its highest, then
 * the rest as it is. @odds: NUMBER_ODDS of them. */
static inline uint64_t range_number(struct range_coder *c, bool decodes, struct bit_odds *odds,
				    uint64_t v)
{
	uint32_t length = v ? 64 - (uint32_t)__builtin_clzll(v) : 0;

	length = range_bits(c, decodes, odds, 7, length);
	if (length < 2 || length > 64) /* more than 64: no encoder wrote this */
		return length & 1;
	uint32_t next = length < 3 ? 1 : 2, rest = length - 1 - next;
	uint64_t got = range_bits(c, decodes, odds + 128 + 4 * length, next,
				  (uint32_t)(v >> rest) & ((1u << next) - 1));
	return (1ull << next | got) << rest | range_raw(c, decodes, rest, v);
}

/* Ends encoding. */
static inline void range_finish(struct range_coder *c)
{
	if (__builtin_add_overflow(c->low, UINT32_MAX, &c->low))
		range_carry(c->out);
	range_put_word(c);
}

#endif
