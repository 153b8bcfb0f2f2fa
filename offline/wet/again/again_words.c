// SPDX-License-Identifier: LGPL-2.1-or-later
/* again_words.c: the state of a processor as words (again.h). */
#include "offline/wet/again/again.h"

#include <string.h>

/* Eight bytes of what has bytes. */
typedef uint64_t __attribute__((may_alias)) word_t;

/* Words of the state: a range each. Append-only, as files have their numbers. */
enum {
	W_FS = 16, /* behind the general registers */
	W_GS,
	W_RIP,
	W_FLAGS,
	W_MXCSR,
	W_DF,
	W_VEC,
	W_X87 = W_VEC + 4 * VALUE_VECS,
	W_NO_TOPS = W_X87 + VALUE_FX_X87 / 8,
	W_WIDE, /* rows behind the first sixteen */
};
_Static_assert(W_WIDE + 4 * (VALUE_ROWS - VALUE_VECS) == AGAIN_WORDS, "each row has its words");
_Static_assert(sizeof(struct value_state) == 2880,
	       "what is added to the state becomes a word here");

static word_t *word_of(struct value_state *s, unsigned i)
{
	if (i < W_FS)
		return &s->gpr[i];
	if (i < W_RIP)
		return &s->gpr[VALUE_FS + i - W_FS];
	if (i < W_VEC)
		return i == W_RIP ? &s->rip : &s->flags;
	if (i < W_X87)
		return (word_t *)s->vec + (i - W_VEC);
	if (i < W_NO_TOPS)
		return (word_t *)s->fx + (i - W_X87);
	return (word_t *)s->vec[VALUE_VECS] + (i - W_WIDE);
}

uint64_t again_word_get(const struct value_state *s, unsigned i)
{
	return i == W_MXCSR	? s->mxcsr
	       : i == W_DF	? s->df
	       : i == W_NO_TOPS ? s->no_tops
				: *word_of((struct value_state *)s, i);
}

void again_word_set(struct value_state *s, unsigned i, uint64_t v)
{
	if (i == W_MXCSR)
		s->mxcsr = (uint32_t)v;
	else if (i == W_DF)
		s->df = v & 1;
	else if (i == W_NO_TOPS)
		s->no_tops = (uint16_t)v;
	else
		*word_of(s, i) = v;
}

uint64_t again_word_bits(unsigned i)
{
	const uint64_t one = 1;
	if (i < W_FS)
		return one << i;
	if (i < W_FLAGS)
		return 0;
	if (i >= W_NO_TOPS)
		return one << VALUE_BIT_WIDE;
	if (i >= W_X87)
		return one << VALUE_BIT_X87;
	if (i >= W_VEC)
		return one << ((i - W_VEC) % 4 < 2 ? VALUE_BIT_VEC : VALUE_BIT_HIGH)
			   << (i - W_VEC) / 4;
	return i == W_FLAGS ? one << VALUE_BIT_FLAGS
	       : i == W_DF  ? one << VALUE_BIT_DF
			    : one << VALUE_BIT_MXCSR | one << VALUE_BIT_STICKY;
}

unsigned again_words_differ(const struct value_state *a, const struct value_state *b,
			    uint16_t differ[AGAIN_WORDS])
{
	/* Most often what is large is the same. */
	bool vec = memcmp(a->vec, b->vec, sizeof(a->vec)) != 0;
	bool x87 = memcmp(a->fx, b->fx, VALUE_FX_X87) != 0;
	const word_t *x = (const word_t *)a->vec, *y = (const word_t *)b->vec;
	const unsigned rest = 4 * VALUE_VECS, rows = 4 * VALUE_ROWS;
	unsigned n = 0;
	for (unsigned i = 0; i < W_VEC; i++)
		if (again_word_get(a, i) != again_word_get(b, i))
			differ[n++] = (uint16_t)i;
	for (unsigned i = 0; vec && i < rest; i++)
		if (x[i] != y[i])
			differ[n++] = (uint16_t)(W_VEC + i);
	for (unsigned i = W_X87; x87 && i < W_NO_TOPS; i++)
		if (again_word_get(a, i) != again_word_get(b, i))
			differ[n++] = (uint16_t)i;
	if (a->no_tops != b->no_tops)
		differ[n++] = W_NO_TOPS;
	for (unsigned i = rest; vec && i < rows; i++)
		if (x[i] != y[i])
			differ[n++] = (uint16_t)(W_WIDE + i - rest);
	return n;
}
