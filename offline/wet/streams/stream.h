/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stream.h: a sequence of 64-bit values, compressed by a value predictor so that it can be walked
 * in both directions, one value a step, at equal cost (section 4 of the WET paper).
 *
 * The stream is FR(1..i) U(i+1..i+n) BL(i+n+1..m): n values stand uncompressed, the window; those
 * on its left are compressed with the values on their right as context, those on its right with the
 * values on their left. A step moves the window by one: one value is uncompressed on one side, one
 * compressed on the other, and nothing else changes. A value that was predicted is one bit; another
 * is its bit, and what the predictor's table held in place of it (which the table then gives up),
 * so that the step backwards finds the table as it was.
 */
#ifndef OFFLINE_WET_STREAM_H
#define OFFLINE_WET_STREAM_H

#include "offline/base/varint.h"

enum wet_predictor {
	WET_FCM,    /* the value that stood in this context the last time */
	WET_DFCM,   /* the same for differences between neighbours */
	WET_LAST,   /* one of the last n different values */
	WET_STRIDE, /* the neighbour, and one of the last n different differences */
	WET_PREDICTORS,
};

enum { WET_CONTEXT_MAX = 8 };

struct wet_stream;

/* Compresses @n values with @predictor and a context (or, of the last two, a table) of @context
 * values, 1 to WET_CONTEXT_MAX; @table_bits: log2 of the entries of a table of FCM, 2 to 20. The
 * window is at the start then. Returns NULL where memory is out. */
struct wet_stream *wet_stream_new(enum wet_predictor predictor, unsigned context,
				  unsigned table_bits, const uint64_t *values, size_t n);
/* The predictor that compresses @n values best, of all with contexts 1, 2 and 4 (the paper: three
 * of each). False: out of memory. */
struct wet_choice {
	size_t bits;
	enum wet_predictor predictor;
	unsigned context;
};
bool wet_stream_choose(const uint64_t *values, size_t n, struct wet_choice *out);
/* By that one. */
struct wet_stream *wet_stream_chosen(const struct wet_choice *choice, const uint64_t *values,
				     size_t n);
/* By the one that compresses the first @trial of the values best. */
struct wet_stream *wet_stream_best(const uint64_t *values, size_t n, size_t trial);
void wet_stream_free(struct wet_stream *stream);

/* Appends the stream, whose window is at the start, to @to: all but its predictor and its length.
 */
void wet_stream_save(const struct wet_stream *stream, struct bytes *to);
/* The stream of @n values that @bytes are. Returns 0, -EBADMSG: they are none, or -ENOMEM. */
int wet_stream_load(enum wet_predictor predictor, uint64_t n, const uint8_t *bytes, size_t len,
		    struct wet_stream **out);

size_t wet_stream_length(const struct wet_stream *stream);
/* Bits that the compressed sides, the entries that their tables have, the window and the
 * predictor's name take. */
size_t wet_stream_bits(const struct wet_stream *stream);
enum wet_predictor wet_stream_predictor(const struct wet_stream *stream, unsigned *context);

/* The cursor stands between two values: how many are on its left. */
size_t wet_stream_position(const struct wet_stream *stream);
/* Passes one value and gives it. False: there is none. */
bool wet_stream_next(struct wet_stream *stream, uint64_t *value);
bool wet_stream_previous(struct wet_stream *stream, uint64_t *value);

/* What the predictor's tables hold for the state of the window, for tests against the papers'
 * figures: entry @index of the left or right side's table, as a value. */
uint64_t wet_stream_table(const struct wet_stream *stream, bool right, size_t index);
/* Of the entries of one side: is the one next to the window (0), behind it (1), ... predicted? */
bool wet_stream_hit(const struct wet_stream *stream, bool right, size_t distance);

#endif
