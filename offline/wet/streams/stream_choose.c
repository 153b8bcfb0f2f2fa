// SPDX-License-Identifier: LGPL-2.1-or-later
/* stream_choose.c: which predictor is best for a stream: all are tried on its beginning (stream.h).
 */
#include "offline/wet/streams/stream_impl.h"

/* Entries of a table for @n values. */
static unsigned table_bits_for(size_t n)
{
	unsigned bits = 4;
	while (bits < TABLE_BITS_MAX && (size_t)1 << bits < n)
		bits++;
	return bits;
}

bool wet_stream_choose(const uint64_t *values, size_t n, struct wet_choice *out)
{
	static const unsigned contexts[] = {1, 2, 4};
	unsigned few = table_bits_for(n);
	*out = (struct wet_choice){.bits = SIZE_MAX};
	for (int p = 0; p < WET_PREDICTORS; p++)
		for (unsigned c = 0; c < 3; c++) {
			struct wet_stream *w =
				wet_stream_new((enum wet_predictor)p, contexts[c], few, values, n);
			if (!w)
				return false;
			if (wet_stream_bits(w) < out->bits)
				*out = (struct wet_choice){wet_stream_bits(w),
							   (enum wet_predictor)p, contexts[c]};
			wet_stream_free(w);
		}
	return true;
}

struct wet_stream *wet_stream_chosen(const struct wet_choice *choice, const uint64_t *values,
				     size_t n)
{
	return wet_stream_new(choice->predictor, choice->context, table_bits_for(n), values, n);
}

struct wet_stream *wet_stream_best(const uint64_t *values, size_t n, size_t trial)
{
	struct wet_choice best;
	if (!wet_stream_choose(values, n < trial ? n : trial, &best))
		return NULL;
	return wet_stream_chosen(&best, values, n);
}
