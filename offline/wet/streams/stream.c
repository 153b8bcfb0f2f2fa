// SPDX-License-Identifier: LGPL-2.1-or-later
/* stream.c: bidirectional predictors. Each side is a stack of entries: bits of hits, and the words
 * of misses; the entry next to the window is on top of both. Pushing an entry compresses a value;
 * popping one undoes exactly that push, the table's change with it:
 *
 *   push v:  p = prediction; hit: bit 1; else bit 0, and word p (the table then holds v)
 *   pop:     p = prediction = v; bit 1: done; else the table holds the word again
 *
 * The window's neighbours are the context, the nearest first, whichever side it is.
 */
#include "offline/wet/streams/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_BITS_MAX = 16 };

/* Entries of one side. */
struct side {
	uint64_t *hits; /* a bit each */
	size_t n, room; /* entries; bits that @hits has room for */
	uint64_t *words;
	size_t n_words, room_words;
	uint64_t *table;
};

struct wet_stream {
	enum wet_predictor predictor;
	unsigned context;    /* values that a prediction looks at, or entries of a table of lasts */
	unsigned table_bits; /* of FCM's tables */
	size_t length;
	size_t position;		      /* of the cursor: values of the stream on its left */
	uint64_t window[WET_CONTEXT_MAX + 1]; /* what stands uncompressed, from the left */
	struct side side[2];		      /* left, right */
};

/* --- entries --------------------------------------------------------------------------------- */

static bool grow(void *list, size_t *room, size_t n, size_t size)
{
	if (n < *room)
		return true;
	size_t more = *room ? 2 * *room : 64;
	void *now = realloc(*(void **)list, more * size);
	if (!now)
		return false;
	*(void **)list = now;
	*room = more;
	return true;
}

static bool more_room(struct side *s)
{
	size_t words = s->room / 64;
	if (s->n == s->room) {
		if (!grow(&s->hits, &words, words, sizeof(*s->hits)))
			return false;
		s->room = words * 64;
	}
	return grow(&s->words, &s->room_words, s->n_words, sizeof(*s->words));
}

/* An entry: whether it is a hit, and @word, which is kept if @with_word. */
static inline bool put_entry(struct side *s, bool hit, bool with_word, uint64_t word)
{
	if ((s->n == s->room || s->n_words == s->room_words) && !more_room(s))
		return false;
	uint64_t bits = s->n % 64 ? s->hits[s->n / 64] : 0;
	bits &= ((uint64_t)1 << s->n % 64) - 1;
	s->hits[s->n / 64] = bits | (uint64_t)hit << s->n % 64;
	s->n++;
	s->words[s->n_words] = word;
	s->n_words += with_word;
	return true;
}

static inline bool take_bit(struct side *s)
{
	s->n--;
	return s->hits[s->n / 64] >> s->n % 64 & 1;
}

/* How many bits a word takes in a file: its bytes, and a length of four bits. */
static size_t word_bits(uint64_t word)
{
	size_t bytes = 0;
	for (; word; word >>= 8)
		bytes++;
	return 4 + 8 * bytes;
}

/* --- predictors ------------------------------------------------------------------------------ */

/* A stream's own predictor and context, as constants where a step is made for them. */
struct how {
	enum wet_predictor predictor;
	unsigned context;
};

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS bool is_fcm(enum wet_predictor predictor)
{
	return predictor == WET_FCM || predictor == WET_DFCM;
}

/* Values that stand uncompressed. */
ALWAYS unsigned window_of(struct how how)
{
	return how.predictor == WET_DFCM  ? how.context + 1
	       : how.predictor == WET_FCM ? how.context
					  : 1;
}

/* Value @i of the context of @right's side, the nearest to the value that is predicted first. */
ALWAYS uint64_t near(const struct wet_stream *w, struct how how, bool right, unsigned i)
{
	return w->window[right ? window_of(how) - 1 - i : i];
}

ALWAYS size_t hash(const struct wet_stream *w, struct how how, bool right)
{
	uint64_t h = 0;
	for (unsigned i = 0; i < how.context; i++) {
		uint64_t v = near(w, how, right, i);
		if (how.predictor == WET_DFCM)
			v -= near(w, how, right, i + 1);
		h = (h ^ v) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	return h >> (64 - w->table_bits);
}

/* FCM: one entry that the context chooses. */
ALWAYS bool push_fcm(struct wet_stream *w, struct how how, bool right, uint64_t v)
{
	struct side *s = &w->side[right];
	uint64_t *entry = &s->table[hash(w, how, right)], held = *entry;
	*entry = v;
	return put_entry(s, held == v, held != v, held);
}

ALWAYS uint64_t pop_fcm(struct wet_stream *w, struct how how, bool right)
{
	struct side *s = &w->side[right];
	uint64_t *entry = &s->table[hash(w, how, right)], v = *entry;
	bool hit = take_bit(s);
	s->n_words -= !hit;
	*entry = hit ? v : s->words[s->n_words];
	return v;
}

/* Last n: the table is a list of the last values, the newest first. A hit at index k moves that
 * value to the front; its entry is k. A miss puts the value in front, and its entry is the value
 * that falls out at the end. Both are undone from what the entry says, because the value in front
 * is the one that was pushed. */
ALWAYS bool push_last(struct wet_stream *w, struct how how, bool right, uint64_t v)
{
	uint64_t *table = w->side[right].table, front = v, word = 0;
	bool hit = false;
	for (unsigned k = 0; k < how.context && !hit; k++) {
		uint64_t held = table[k];
		table[k] = front;
		front = held;
		hit = held == v;
		word = hit ? k : held;
	}
	return put_entry(&w->side[right], hit, true, word);
}

ALWAYS uint64_t pop_last(struct wet_stream *w, struct how how, bool right)
{
	struct side *s = &w->side[right];
	uint64_t *table = s->table, v = table[0];
	bool hit = take_bit(s);
	uint64_t word = s->words[--s->n_words];
	unsigned k = hit ? (unsigned)word : how.context - 1;
	for (unsigned i = 0; i < k; i++)
		table[i] = table[i + 1];
	table[k] = hit ? v : word;
	return v;
}

/* What the predictor sees of a value: of differences that to the neighbour. A stride is the same
 * number for both sides: from the left value to the right one. */
ALWAYS uint64_t relative(const struct wet_stream *w, struct how how, bool right, uint64_t v)
{
	if (how.predictor == WET_STRIDE && !right)
		return near(w, how, right, 0) - v;
	return how.predictor == WET_DFCM || how.predictor == WET_STRIDE ? v - near(w, how, right, 0)
									: v;
}

ALWAYS uint64_t absolute(const struct wet_stream *w, struct how how, bool right, uint64_t d)
{
	if (how.predictor == WET_STRIDE && !right)
		return near(w, how, right, 0) - d;
	return how.predictor == WET_DFCM || how.predictor == WET_STRIDE ? near(w, how, right, 0) + d
									: d;
}

ALWAYS bool push(struct wet_stream *w, struct how how, bool right, uint64_t v)
{
	v = relative(w, how, right, v);
	return is_fcm(how.predictor) ? push_fcm(w, how, right, v) : push_last(w, how, right, v);
}

ALWAYS uint64_t pop(struct wet_stream *w, struct how how, bool right)
{
	uint64_t v = is_fcm(how.predictor) ? pop_fcm(w, how, right) : pop_last(w, how, right);
	return absolute(w, how, right, v);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Moves the window by one to the right: @v comes in at its right end; what leaves it on the left is
 * compressed with the window as it is then. */
ALWAYS bool shift_right(struct wet_stream *w, struct how how, uint64_t v)
{
	unsigned last = window_of(how) - 1;
	uint64_t out = w->window[0];
	for (unsigned i = 0; i < last; i++)
		w->window[i] = w->window[i + 1];
	w->window[last] = v;
	return push(w, how, false, out);
}

ALWAYS bool shift_left(struct wet_stream *w, struct how how, uint64_t v)
{
	unsigned last = window_of(how) - 1;
	uint64_t out = w->window[last];
	for (unsigned i = last; i; i--)
		w->window[i] = w->window[i - 1];
	w->window[0] = v;
	return push(w, how, true, out);
}

/* The window's last value is the one on the left of the cursor: it begins over the zeros that stand
 * before the stream, the paper's extension by n values at the ends. */
ALWAYS bool step(struct wet_stream *w, struct how how, bool on, uint64_t *value)
{
	if (on) {
		*value = pop(w, how, true);
		w->position++;
		return shift_right(w, how, *value);
	}
	*value = near(w, how, true, 0);
	w->position--;
	return shift_left(w, how, pop(w, how, false));
}

ALWAYS bool step_of(struct wet_stream *w, enum wet_predictor predictor, bool on, uint64_t *value)
{
	switch (w->context) { /* those that wet_stream_choose() tries */
	case 1:
		return step(w, (struct how){predictor, 1}, on, value);
	case 2:
		return step(w, (struct how){predictor, 2}, on, value);
	case 4:
		return step(w, (struct how){predictor, 4}, on, value);
	}
	return step(w, (struct how){predictor, w->context}, on, value);
}

ALWAYS bool step_any(struct wet_stream *w, bool on, uint64_t *value)
{
	switch (w->predictor) {
	case WET_FCM:
		return step_of(w, WET_FCM, on, value);
	case WET_DFCM:
		return step_of(w, WET_DFCM, on, value);
	case WET_LAST:
		return step_of(w, WET_LAST, on, value);
	default:
		return step_of(w, WET_STRIDE, on, value);
	}
}

bool wet_stream_next(struct wet_stream *w, uint64_t *value)
{
	return w->position < w->length && step_any(w, true, value);
}

bool wet_stream_previous(struct wet_stream *w, uint64_t *value)
{
	return w->position && step_any(w, false, value);
}

/* --- making ---------------------------------------------------------------------------------- */

void wet_stream_free(struct wet_stream *w)
{
	if (!w)
		return;
	for (int i = 0; i < 2; i++) {
		free(w->side[i].hits);
		free(w->side[i].words);
		free(w->side[i].table);
	}
	free(w);
}

struct wet_stream *wet_stream_new(enum wet_predictor predictor, unsigned context,
				  unsigned table_bits, const uint64_t *values, size_t n)
{
	struct wet_stream *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->predictor = predictor;
	w->context = context;
	w->table_bits = table_bits;
	const struct how how = {predictor, context};
	size_t entries = is_fcm(predictor) ? (size_t)1 << table_bits : context;
	w->side[0].table = calloc(entries, sizeof(uint64_t));
	w->side[1].table = calloc(entries, sizeof(uint64_t));
	bool fine = w->side[0].table && w->side[1].table;
	/* Walked once to its end, as if each value came from nowhere; then back to the start. */
	for (size_t i = 0; fine && i < n; i++)
		fine = shift_right(w, how, values[i]);
	w->length = w->position = n;
	uint64_t v;
	while (fine && w->position)
		fine = wet_stream_previous(w, &v);
	if (!fine) {
		wet_stream_free(w);
		return NULL;
	}
	return w;
}

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

/* --- as bytes: all of it is in the right side then -------------------------------------------- */

/* context, bits of tables; hits, a bit each; how many words, their lengths in bytes, two in a byte,
 * and the words; how many entries of the table are not 0, and of each how many are in between, and
 * its value. */
void wet_stream_save(const struct wet_stream *w, struct bytes *to)
{
	const struct side *s = &w->side[1];
	uint8_t head[2] = {(uint8_t)w->context, (uint8_t)w->table_bits}, pair = 0;
	size_t entries = is_fcm(w->predictor) ? (size_t)1 << w->table_bits : w->context, used = 0,
	       last = 0;
	bytes_put(to, head, sizeof(head));
	bytes_put(to, s->hits, (s->n + 7) / 8);
	bytes_put_varint(to, s->n_words);
	for (size_t i = 0; i < s->n_words; i++) {
		pair |= (uint8_t)((word_bits(s->words[i]) - 4) / 8 << 4 * (i % 2));
		if (i % 2 || i + 1 == s->n_words) {
			bytes_put(to, &pair, 1);
			pair = 0;
		}
	}
	for (size_t i = 0; i < s->n_words; i++)
		bytes_put(to, &s->words[i], (word_bits(s->words[i]) - 4) / 8);
	for (size_t i = 0; i < entries; i++)
		used += s->table[i] != 0;
	bytes_put_varint(to, used);
	for (size_t i = 0; i < entries; i++)
		if (s->table[i]) {
			bytes_put_varint(to, i - last);
			bytes_put_varint(to, s->table[i]);
			last = i;
		}
}

static bool load_words(struct side *s, struct cursor *in)
{
	uint64_t n;
	if (!cursor_varint(in, &n) || n > s->n || (n + 1) / 2 > (uint64_t)(in->end - in->at))
		return false;
	const uint8_t *lengths = in->at;
	in->at += (n + 1) / 2;
	for (uint64_t i = 0; i < n; i++) {
		unsigned len = lengths[i / 2] >> 4 * (i % 2) & 15;
		uint64_t word = 0;
		if (len > 8 || len > (uint64_t)(in->end - in->at))
			return false;
		memcpy(&word, in->at, len);
		in->at += len;
		if (!grow(&s->words, &s->room_words, s->n_words, sizeof(*s->words)))
			return false;
		s->words[s->n_words++] = word;
	}
	return true;
}

static bool load_table(struct side *s, size_t entries, struct cursor *in)
{
	uint64_t used, at = 0, gap;
	if (!cursor_varint(in, &used) || used > entries)
		return false;
	for (uint64_t i = 0; i < used; i++) {
		if (!cursor_varint(in, &gap) || gap >= entries - at)
			return false;
		at += gap;
		if (!cursor_varint(in, &s->table[at]))
			return false;
	}
	return in->at == in->end;
}

/* Whether each entry can be popped: of FCM a miss has a word, of the others each has one, which of
 * a hit is a place in the table. */
static bool is_sound(const struct wet_stream *w)
{
	const struct side *s = &w->side[1];
	size_t misses = 0;
	for (size_t i = 0; i < s->n; i++) {
		bool hit = s->hits[i / 64] >> i % 64 & 1;
		misses += !hit;
		if (!is_fcm(w->predictor) &&
		    (s->n_words != s->n || (hit && s->words[i] >= w->context)))
			return false;
	}
	return !is_fcm(w->predictor) || misses == s->n_words;
}

int wet_stream_load(enum wet_predictor predictor, uint64_t n, const uint8_t *bytes, size_t len,
		    struct wet_stream **out)
{
	struct cursor in = {bytes, bytes + len};
	uint8_t context, bits;
	if (!cursor_byte(&in, &context) || !cursor_byte(&in, &bits) || !context ||
	    context > WET_CONTEXT_MAX || bits < 2 || bits > TABLE_BITS_MAX ||
	    n > 8 * (uint64_t)(in.end - in.at))
		return -EBADMSG;
	struct wet_stream *w = wet_stream_new(predictor, context, bits, NULL, 0);
	if (!w)
		return -ENOMEM;
	struct side *s = &w->side[1];
	s->hits = calloc(n / 64 + 1, sizeof(*s->hits));
	if (!s->hits) {
		wet_stream_free(w);
		return -ENOMEM;
	}
	s->room = 64 * (n / 64 + 1);
	s->n = n;
	memcpy(s->hits, in.at, (n + 7) / 8);
	in.at += (n + 7) / 8;
	w->length = n;
	if (!load_words(s, &in) ||
	    !load_table(s, is_fcm(w->predictor) ? (size_t)1 << bits : context, &in) ||
	    !is_sound(w)) {
		wet_stream_free(w);
		return -EBADMSG;
	}
	*out = w;
	return 0;
}

/* --- facts ----------------------------------------------------------------------------------- */

size_t wet_stream_length(const struct wet_stream *w)
{
	return w->length;
}

size_t wet_stream_position(const struct wet_stream *w)
{
	return w->position;
}

/* A value that was a miss stands in a table until another one takes its place. */
static size_t bits_of_table(const struct wet_stream *w, const struct side *s)
{
	size_t entries = is_fcm(w->predictor) ? (size_t)1 << w->table_bits : w->context, bits = 0;
	for (size_t i = 0; i < entries; i++)
		if (s->table[i])
			bits += word_bits(s->table[i]) + (is_fcm(w->predictor) ? w->table_bits : 0);
	return bits;
}

/* Of the entries, as they would be stored: a bit each; of a miss its word, and of a hit in a table
 * of several lasts its index. */
static size_t bits_of_entries(const struct wet_stream *w, const struct side *s)
{
	unsigned n = w->context, index = n > 4 ? 3 : n > 2 ? 2 : n > 1 ? 1 : 0;
	size_t bits = s->n;
	for (size_t i = 0; i < s->n_words; i++) {
		bool hit = !is_fcm(w->predictor) && s->hits[i / 64] >> i % 64 & 1;
		bits += hit ? index : word_bits(s->words[i]);
	}
	return bits;
}

size_t wet_stream_bits(const struct wet_stream *w)
{
	size_t bits = 64 * window_of((struct how){w->predictor, w->context}) + 8;
	for (int i = 0; i < 2; i++)
		bits += bits_of_entries(w, &w->side[i]) + bits_of_table(w, &w->side[i]);
	return bits;
}

enum wet_predictor wet_stream_predictor(const struct wet_stream *w, unsigned *context)
{
	if (context)
		*context = w->context;
	return w->predictor;
}

uint64_t wet_stream_table(const struct wet_stream *w, bool right, size_t index)
{
	return w->side[right].table[index];
}

bool wet_stream_hit(const struct wet_stream *w, bool right, size_t distance)
{
	const struct side *s = &w->side[right];
	size_t at = s->n - 1 - distance;
	return s->hits[at / 64] >> at % 64 & 1;
}
