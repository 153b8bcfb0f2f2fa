/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_rle.h: run-length encoding as symbols come: immediate repetitions of one symbol, or of up
 * to RLE_MAX_PERIOD symbols together. The repetition that is complete first is taken; of those
 * complete at the same time the shortest: aaaabababc is 4a 2(ba) b c. */
#ifndef OFFLINE_ENCODE_RLE_H
#define OFFLINE_ENCODE_RLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RLE_MAX_PERIOD = 16, RLE_BLOCK = 1024 };

#define RLE_MANY UINT64_MAX

/* Gets @count repetitions of @n symbols, at most RLE_MAX_PERIOD of them; or symbols without a
 * repetition, any number of them and @count 1. Non-zero stops. */
typedef int rle_sink(void *ctx, const uint32_t *symbols, size_t n, uint64_t count);

/* The caller owns it; nothing in it is on the heap. */
struct rle {
	rle_sink *sink;
	void *ctx;
	uint64_t k;
	bool balanced;
	/* How many symbols in a row, up to the last, were each the one that came L before: at
	 * [RLE_MAX_PERIOD - L]. */
	uint8_t same[RLE_MAX_PERIOD] __attribute__((aligned(16)));
	uint32_t unit[RLE_MAX_PERIOD];
	uint32_t period, phase; /* 0: no repetition is going on */
	uint64_t count;
	/* Symbols not given out yet are window[first .. n); before them lie earlier ones. */
	uint32_t first, n;
	uint32_t window[RLE_MAX_PERIOD + RLE_BLOCK];
};

/* Counts above @k are given out as RLE_MANY; 0: all are given as they are. @balanced: symbols are
 * those of encode_symbols.h, and only what closes all that it opens is taken as a repetition. */
void rle_init(struct rle *rle, uint64_t k, bool balanced, rle_sink *sink, void *ctx);
/* 0, or what the sink said. */
int rle_put(struct rle *rle, const uint32_t *symbols, size_t n);
/* Gives out the rest; a new string may follow. */
int rle_finish(struct rle *rle);

#endif
