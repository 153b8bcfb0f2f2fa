/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stream_impl.h: what the files of a stream share: stream.c steps, stream_bytes.c has it as bytes.
 */
#ifndef OFFLINE_WET_STREAM_IMPL_H
#define OFFLINE_WET_STREAM_IMPL_H

#include "offline/wet/streams/stream.h"

enum { TABLE_BITS_MAX = 16, ENTRY_BITS = 4, PER_WORD = 64 / ENTRY_BITS };
_Static_assert(WET_CONTEXT_MAX < 1 << ENTRY_BITS, "an index stands in an entry");

/* Entries of one side. */
struct wet_side {
	uint64_t *entries; /* of ENTRY_BITS each: 0 a miss; else a hit, at index 1 less of a list */
	size_t n, room;
	uint64_t *words; /* of the misses; behind them is room for one */
	size_t n_words, room_words;
	uint64_t *table;
};

typedef bool step_fn(struct wet_stream *stream, uint64_t *value);

struct wet_stream {
	step_fn *next, *previous; /* of its predictor and context */
	enum wet_predictor predictor;
	unsigned context;    /* values that a prediction looks at, or entries of a table of lasts */
	unsigned table_bits; /* of FCM's tables */
	size_t length;
	size_t position;		      /* of the cursor: values of the stream on its left */
	uint64_t window[WET_CONTEXT_MAX + 1]; /* what stands uncompressed, from the left */
	struct wet_side side[2];	      /* left, right */
};

/* Makes room for one more entry, and a word. False: out of memory. */
bool wet_side_more_room(struct wet_side *side);

static inline bool is_fcm(enum wet_predictor predictor)
{
	return predictor == WET_FCM || predictor == WET_DFCM;
}

static inline unsigned entry_at(const struct wet_side *s, size_t i)
{
	return s->entries[i / PER_WORD] >> i % PER_WORD * ENTRY_BITS & ((1 << ENTRY_BITS) - 1);
}

/* @word is kept of a miss. */
static inline bool put_entry(struct wet_side *s, unsigned entry, uint64_t word)
{
	if ((s->n == s->room || s->n_words + 1 >= s->room_words) && !wet_side_more_room(s))
		return false;
	uint64_t *in = &s->entries[s->n / PER_WORD];
	unsigned at = s->n % PER_WORD * ENTRY_BITS;
	*in = (*in & (((uint64_t)1 << at) - 1)) | (uint64_t)entry << at;
	s->n++;
	s->words[s->n_words] = word;
	s->n_words += !entry;
	return true;
}

/* *@word is set if it is a miss: without a jump, as nobody can foresee it. */
static inline unsigned take_entry(struct wet_side *s, uint64_t *word)
{
	unsigned entry = entry_at(s, --s->n);
	uint64_t miss = !entry;
	s->n_words -= miss;
	*word ^= (*word ^ s->words[s->n_words]) & (0 - miss);
	return entry;
}

/* How many bits a word takes in a file: its bytes, and a length of four bits. */
static inline size_t word_bits(uint64_t word)
{
	size_t bytes = 0;
	for (; word; word >>= 8)
		bytes++;
	return 4 + 8 * bytes;
}

/* Whether entry @i has a word when it is stored, and which: of a miss its own, of a hit in a list
 * of lasts its index. *@misses: how many there were before. */
static inline bool wet_side_word(const struct wet_stream *w, const struct wet_side *s, size_t i,
				 size_t *misses, uint64_t *word)
{
	unsigned entry = entry_at(s, i);
	*word = entry ? entry - 1 : s->words[(*misses)++];
	return !entry || !is_fcm(w->predictor);
}

#endif
