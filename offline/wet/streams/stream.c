// SPDX-License-Identifier: LGPL-2.1-or-later
/* stream.c: bidirectional predictors. Each side is a stack of entries, and of words of those that
 * are misses; the entry next to the window is on top of both. Pushing an entry compresses a value;
 * popping one undoes exactly that push, the table's change with it:
 *
 *   push v:  p = prediction; hit: a hit; else a miss, and word p (the table then holds v)
 *   pop:     p = prediction = v; a hit: done; else the table holds the word again
 *
 * The window's neighbours are the context, the nearest first, whichever side it is.
 */
#include "offline/wet/streams/stream_impl.h"

#include <stdlib.h>
#include <string.h>

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

bool wet_side_more_room(struct wet_side *s)
{
	size_t words = s->room / PER_WORD;
	if (!grow(&s->entries, &words, s->n / PER_WORD, sizeof(*s->entries)))
		return false;
	s->room = words * PER_WORD;
	return grow(&s->words, &s->room_words, s->n_words + 1, sizeof(*s->words));
}

/* --- predictors ------------------------------------------------------------------------------ */

/* A stream's own predictor and context, as constants where a step is made for them. */
struct how {
	enum wet_predictor predictor;
	unsigned context;
};

#define ALWAYS static inline __attribute__((always_inline))

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
	struct wet_side *s = &w->side[right];
	uint64_t *entry = &s->table[hash(w, how, right)], held = *entry;
	*entry = v;
	return put_entry(s, held == v, held);
}

ALWAYS uint64_t pop_fcm(struct wet_stream *w, struct how how, bool right)
{
	struct wet_side *s = &w->side[right];
	uint64_t *entry = &s->table[hash(w, how, right)], v = *entry;
	take_entry(s, entry);
	return v;
}

/* Last n: the table is a list of the last values, the newest first. A hit at index k moves that
 * value to the front; its entry is k. A miss puts the value in front, and its entry is the value
 * that falls out at the end. Both are undone from what the entry says, because the value in front
 * is the one that was pushed. */
ALWAYS bool push_last(struct wet_stream *w, struct how how, bool right, uint64_t v)
{
	uint64_t *table = w->side[right].table, front = v, last = table[how.context - 1];
	unsigned k = how.context;
	for (unsigned i = how.context; i--;)
		k = table[i] == v ? i : k;
	/* Without jumps, as nobody can foresee them. */
	for (unsigned i = 0; i < how.context; i++) {
		uint64_t held = table[i];
		table[i] = i <= k ? front : held;
		front = held;
	}
	return put_entry(&w->side[right], k < how.context ? k + 1 : 0, last);
}

ALWAYS uint64_t pop_last(struct wet_stream *w, struct how how, bool right)
{
	struct wet_side *s = &w->side[right];
	uint64_t *table = s->table, v = table[0], back = v;
	unsigned entry = take_entry(s, &back), k = entry - 1 + how.context * !entry;
	/* Without jumps, as above. */
	for (unsigned i = 0; i + 1 < how.context; i++)
		table[i] ^= (table[i] ^ table[i + 1]) & (0 - (uint64_t)(i < k));
	table[k] = back;
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

/* A step for each predictor, and the contexts that wet_stream_choose() tries; the last is for any.
 */
#define STEPS(name, predictor, context)                                                            \
	static bool next_##name(struct wet_stream *w, uint64_t *value)                             \
	{                                                                                          \
		return step(w, (struct how){predictor, context}, true, value);                     \
	}                                                                                          \
	static bool previous_##name(struct wet_stream *w, uint64_t *value)                         \
	{                                                                                          \
		return step(w, (struct how){predictor, context}, false, value);                    \
	}
#define STEPS_OF(name, predictor)                                                                  \
	STEPS(name##_1, predictor, 1)                                                              \
	STEPS(name##_2, predictor, 2)                                                              \
	STEPS(name##_4, predictor, 4)                                                              \
	STEPS(name##_any, predictor, w->context)
#define ROWS(name, direction)                                                                      \
	{                                                                                          \
		direction##_##name##_1, direction##_##name##_2, direction##_##name##_4,            \
			direction##_##name##_any                                                   \
	}

STEPS_OF(fcm, WET_FCM)
STEPS_OF(dfcm, WET_DFCM)
STEPS_OF(last, WET_LAST)
STEPS_OF(stride, WET_STRIDE)

static step_fn *const next_steps[WET_PREDICTORS][4] = {
	[WET_FCM] = ROWS(fcm, next),
	[WET_DFCM] = ROWS(dfcm, next),
	[WET_LAST] = ROWS(last, next),
	[WET_STRIDE] = ROWS(stride, next),
};
static step_fn *const previous_steps[WET_PREDICTORS][4] = {
	[WET_FCM] = ROWS(fcm, previous),
	[WET_DFCM] = ROWS(dfcm, previous),
	[WET_LAST] = ROWS(last, previous),
	[WET_STRIDE] = ROWS(stride, previous),
};

static void choose_steps(struct wet_stream *w)
{
	unsigned c = w->context, row = c == 1 ? 0 : c == 2 ? 1 : c == 4 ? 2 : 3;
	w->next = next_steps[w->predictor][row];
	w->previous = previous_steps[w->predictor][row];
}

bool wet_stream_next(struct wet_stream *w, uint64_t *value)
{
	return w->position < w->length && w->next(w, value);
}

bool wet_stream_previous(struct wet_stream *w, uint64_t *value)
{
	return w->position && w->previous(w, value);
}

/* --- making ---------------------------------------------------------------------------------- */

void wet_stream_free(struct wet_stream *w)
{
	if (!w)
		return;
	for (int i = 0; i < 2; i++) {
		free(w->side[i].entries);
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
	choose_steps(w);
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
static size_t bits_of_table(const struct wet_stream *w, const struct wet_side *s)
{
	size_t entries = is_fcm(w->predictor) ? (size_t)1 << w->table_bits : w->context, bits = 0;
	for (size_t i = 0; i < entries; i++)
		if (s->table[i])
			bits += word_bits(s->table[i]) + (is_fcm(w->predictor) ? w->table_bits : 0);
	return bits;
}

/* Of the entries, as they would be stored: a bit each; of a miss its word, and of a hit in a table
 * of several lasts its index. */
static size_t bits_of_entries(const struct wet_stream *w, const struct wet_side *s)
{
	unsigned n = w->context, index = n > 4 ? 3 : n > 2 ? 2 : n > 1 ? 1 : 0;
	size_t bits = s->n, misses = 0;
	uint64_t word;
	for (size_t i = 0; i < s->n; i++)
		if (wet_side_word(w, s, i, &misses, &word))
			bits += entry_at(s, i) ? index : word_bits(word);
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
	const struct wet_side *s = &w->side[right];
	return entry_at(s, s->n - 1 - distance);
}
