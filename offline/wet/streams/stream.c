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
#include "offline/wet/streams/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_BITS_MAX = 16, ENTRY_BITS = 4, PER_WORD = 64 / ENTRY_BITS };
_Static_assert(WET_CONTEXT_MAX < 1 << ENTRY_BITS, "an index stands in an entry");

/* Entries of one side. */
struct side {
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
	size_t words = s->room / PER_WORD;
	if (!grow(&s->entries, &words, s->n / PER_WORD, sizeof(*s->entries)))
		return false;
	s->room = words * PER_WORD;
	return grow(&s->words, &s->room_words, s->n_words + 1, sizeof(*s->words));
}

static inline unsigned entry_at(const struct side *s, size_t i)
{
	return s->entries[i / PER_WORD] >> i % PER_WORD * ENTRY_BITS & ((1 << ENTRY_BITS) - 1);
}

/* @word is kept of a miss. */
static inline bool put_entry(struct side *s, unsigned entry, uint64_t word)
{
	if ((s->n == s->room || s->n_words + 1 >= s->room_words) && !more_room(s))
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
static inline unsigned take_entry(struct side *s, uint64_t *word)
{
	unsigned entry = entry_at(s, --s->n);
	uint64_t miss = !entry;
	s->n_words -= miss;
	*word ^= (*word ^ s->words[s->n_words]) & (0 - miss);
	return entry;
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
	return put_entry(s, held == v, held);
}

ALWAYS uint64_t pop_fcm(struct wet_stream *w, struct how how, bool right)
{
	struct side *s = &w->side[right];
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
	struct side *s = &w->side[right];
	uint64_t *table = s->table, v = table[0], back = v;
	unsigned entry = take_entry(s, &back), k = entry - 1 + how.context * !entry;
	for (unsigned i = 0; i + 1 < how.context; i++)
		table[i] = i < k ? table[i + 1] : table[i];
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

/* Whether entry @i has a word when it is stored, and which: of a miss its own, of a hit in a list
 * of lasts its index. *@misses: how many there were before. */
static bool stored_word(const struct wet_stream *w, const struct side *s, size_t i, size_t *misses,
			uint64_t *word)
{
	unsigned entry = entry_at(s, i);
	*word = entry ? entry - 1 : s->words[(*misses)++];
	return !entry || !is_fcm(w->predictor);
}

static void save_hits(const struct side *s, struct bytes *to)
{
	uint8_t byte = 0;
	for (size_t i = 0; i < s->n; i++) {
		byte |= (uint8_t)(!!entry_at(s, i) << i % 8);
		if (i % 8 == 7 || i + 1 == s->n) {
			bytes_put(to, &byte, 1);
			byte = 0;
		}
	}
}

static void save_words(const struct wet_stream *w, const struct side *s, struct bytes *to)
{
	size_t n = is_fcm(w->predictor) ? s->n_words : s->n, misses = 0, k = 0;
	uint8_t pair = 0;
	uint64_t word;
	bytes_put_varint(to, n);
	for (size_t i = 0; i < s->n; i++) {
		if (!stored_word(w, s, i, &misses, &word))
			continue;
		pair |= (uint8_t)((word_bits(word) - 4) / 8 << 4 * (k % 2));
		if (k++ % 2 || k == n) {
			bytes_put(to, &pair, 1);
			pair = 0;
		}
	}
	misses = 0;
	for (size_t i = 0; i < s->n; i++)
		if (stored_word(w, s, i, &misses, &word))
			bytes_put(to, &word, (word_bits(word) - 4) / 8);
}

/* context, bits of tables; hits, a bit each; how many words, their lengths in bytes, two in a byte,
 * and the words; how many entries of the table are not 0, and of each how many are in between, and
 * its value. */
void wet_stream_save(const struct wet_stream *w, struct bytes *to)
{
	const struct side *s = &w->side[1];
	uint8_t head[2] = {(uint8_t)w->context, (uint8_t)w->table_bits};
	size_t entries = is_fcm(w->predictor) ? (size_t)1 << w->table_bits : w->context, used = 0,
	       last = 0;
	bytes_put(to, head, sizeof(head));
	save_hits(s, to);
	save_words(w, s, to);
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

/* @n entries by their bits of @hits, and the words at @in: each has one, but for hits of FCM, and
 * that of a hit is an index. */
static int load_entries(const struct wet_stream *w, struct side *s, uint64_t n, const uint8_t *hits,
			struct cursor *in)
{
	uint64_t n_words, k = 0;
	if (!cursor_varint(in, &n_words) || n_words > n ||
	    (n_words + 1) / 2 > (uint64_t)(in->end - in->at))
		return -EBADMSG;
	const uint8_t *lengths = in->at;
	in->at += (n_words + 1) / 2;
	for (uint64_t i = 0; i < n; i++) {
		bool hit = hits[i / 8] >> i % 8 & 1;
		uint64_t word = 0;
		if (!hit || !is_fcm(w->predictor)) {
			unsigned len = k < n_words ? lengths[k / 2] >> 4 * (k % 2) & 15 : 9;
			if (len > 8 || len > (uint64_t)(in->end - in->at))
				return -EBADMSG;
			memcpy(&word, in->at, len);
			in->at += len;
			k++;
		}
		if (hit && word >= w->context)
			return -EBADMSG;
		if (!put_entry(s, hit ? (unsigned)word + 1 : 0, word))
			return -ENOMEM;
	}
	return k == n_words ? 0 : -EBADMSG;
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
	const uint8_t *hits = in.at;
	in.at += (n + 7) / 8;
	w->length = n;
	int err = load_entries(w, s, n, hits, &in);
	if (!err && !load_table(s, is_fcm(predictor) ? (size_t)1 << bits : context, &in))
		err = -EBADMSG;
	if (err) {
		wet_stream_free(w);
		return err;
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
	size_t bits = s->n, misses = 0;
	uint64_t word;
	for (size_t i = 0; i < s->n; i++)
		if (stored_word(w, s, i, &misses, &word))
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
	const struct side *s = &w->side[right];
	return entry_at(s, s->n - 1 - distance);
}
