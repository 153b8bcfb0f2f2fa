// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_rle.c: see encode_rle.h. Each symbol is compared with the sixteen before it at once. A
 * repetition of period p is found when each of the last p symbols was the same as the one p before
 * it. From there on only that distance is compared, until the repetition ends; the symbols of a
 * last, incomplete round are then put in again as new ones. */
#include "offline/encode/encode_rle.h"

#include "offline/encode/encode_symbols.h"

#include <emmintrin.h>
#include <string.h>

void rle_init(struct rle *r, uint64_t k, bool balanced, rle_sink *sink, void *ctx)
{
	r->balanced = balanced;
	r->sink = sink;
	r->ctx = ctx;
	r->k = k;
	r->period = r->phase = 0;
	r->count = 0;
	r->first = r->n = RLE_MAX_PERIOD;
	memset(r->same, 0, sizeof(r->same));
	memset(r->window, 0xff, RLE_MAX_PERIOD * sizeof(*r->window)); /* no symbol */
}

/* Gives out what lies before window[end]. */
static int give_plain(struct rle *r, uint32_t end)
{
	uint32_t first = r->first;
	r->first = end;
	return end > first ? r->sink(r->ctx, r->window + first, end - first, 1) : 0;
}

static int give_run(struct rle *r)
{
	uint64_t count = r->k && r->count > r->k ? RLE_MANY : r->count;
	return r->sink(r->ctx, r->unit, r->period, count);
}

/* Makes room in the window: symbols that cannot become part of a repetition any more are given out,
 * the rest moves to the front. */
static int slide(struct rle *r)
{
	uint32_t keep = r->n - r->first;
	if (keep > 2 * RLE_MAX_PERIOD) {
		int err = give_plain(r, r->n - 2 * RLE_MAX_PERIOD);
		if (err)
			return err;
		keep = 2 * RLE_MAX_PERIOD;
	}
	memmove(r->window, r->window + r->first - RLE_MAX_PERIOD,
		(RLE_MAX_PERIOD + keep) * sizeof(*r->window));
	r->first = RLE_MAX_PERIOD;
	r->n = RLE_MAX_PERIOD + keep;
	return 0;
}

/* A byte for each of the sixteen symbols before @last: -1 where it is the same, else 0. */
static inline __m128i compare_back(const uint32_t *last)
{
	const __m128i *before = (const __m128i *)(last - RLE_MAX_PERIOD);
	__m128i symbol = _mm_set1_epi32((int)*last), equal[4];
	for (int i = 0; i < 4; i++)
		equal[i] = _mm_cmpeq_epi32(_mm_loadu_si128(before + i), symbol);
	return _mm_packs_epi16(_mm_packs_epi32(equal[0], equal[1]),
			       _mm_packs_epi32(equal[2], equal[3]));
}

/* Whether the last @n symbols close all that they open. */
static bool closes_all(const struct rle *r, uint32_t n)
{
	uint32_t open = 0;
	for (uint32_t i = r->n - n; i < r->n; i++) {
		if (!symbol_closes(r->window[i]))
			open++;
		else if (!open--)
			return false;
	}
	return !open;
}

/* The shortest period of those in @complete whose unit is balanced, or 0. */
static uint32_t shortest_balanced(const struct rle *r, uint32_t complete)
{
	for (; complete; complete &= ~(1u << (31 - __builtin_clz(complete)))) {
		uint32_t period = RLE_MAX_PERIOD - (31 - __builtin_clz(complete));
		if (2 * period > r->n - r->first)
			return 0;
		if (closes_all(r, period))
			return period;
	}
	return 0;
}

/* The period of the repetition that the last symbol completed, or 0. */
static inline uint32_t look(struct rle *r)
{
	const __m128i needed =
		_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); /* and one */
	__m128i equal = compare_back(r->window + r->n - 1);
	__m128i same = _mm_load_si128((const __m128i *)r->same);
	same = _mm_and_si128(_mm_sub_epi8(same, _mm_set1_epi8(-1)), equal);
	_mm_store_si128((__m128i *)r->same, same);
	uint32_t complete = (uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(same, needed));
	if (!complete)
		return 0;
	if (r->balanced)
		return shortest_balanced(r, complete);
	uint32_t period = RLE_MAX_PERIOD - (31 - __builtin_clz(complete));
	return 2 * period <= r->n - r->first ? period : 0;
}

/* The last 2 * @period symbols are a repetition. */
static int begin_run(struct rle *r, uint32_t period)
{
	int err = give_plain(r, r->n - 2 * period);
	memcpy(r->unit, r->window + r->n - period, period * sizeof(*r->unit));
	r->first = r->n;
	r->period = period;
	r->phase = 0;
	r->count = 2;
	return err;
}

static int put_plain(struct rle *r, uint32_t symbol)
{
	if (r->n == RLE_MAX_PERIOD + RLE_BLOCK) {
		int err = slide(r);
		if (err)
			return err;
	}
	r->window[r->n++] = symbol;
	uint32_t period = look(r);
	return period ? begin_run(r, period) : 0;
}

/* Ends the repetition, and puts the symbols of an incomplete round in again. */
static int end_run(struct rle *r)
{
	int err = give_run(r);
	uint32_t rest = r->phase;
	r->period = r->phase = 0;
	memset(r->same, 0, sizeof(r->same)); /* what is in the window counts no more */
	uint32_t unit[RLE_MAX_PERIOD];
	memcpy(unit, r->unit, rest * sizeof(*unit));
	return !err && rest ? rle_put(r, unit, rest) : err;
}

/* Takes what continues the repetition; returns how many symbols did. */
static size_t put_run(struct rle *r, const uint32_t *symbols, size_t n)
{
	size_t i = 0;
	if (r->period == 1) {
		while (i < n && symbols[i] == r->unit[0])
			i++;
		r->count += i;
		return i;
	}
	for (; i < n && symbols[i] == r->unit[r->phase]; i++)
		if (++r->phase == r->period) {
			r->phase = 0;
			r->count++;
		}
	return i;
}

int rle_put(struct rle *r, const uint32_t *symbols, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err;) {
		if (!r->period) {
			err = put_plain(r, symbols[i++]);
			continue;
		}
		i += put_run(r, symbols + i, n - i);
		if (i < n)
			err = end_run(r);
	}
	return err;
}

int rle_finish(struct rle *r)
{
	int err = 0;
	while (!err && r->period)
		err = end_run(r);
	if (!err)
		err = give_plain(r, r->n);
	rle_init(r, r->k, r->balanced, r->sink, r->ctx);
	return err;
}
