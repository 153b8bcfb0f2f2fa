// SPDX-License-Identifier: LGPL-2.1-or-later
/* Bidirectional predictors: what goes in comes out in both directions, from any point; and the
 * state at a position is the same from whichever side it was reached, as in Figure 6 of the WET
 * paper. */
#include "offline/wet/streams/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 3000, TABLE_BITS = 6 };

static uint64_t random_number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* Kinds of streams: random, few values, a stride, a period, a walk, constant. */
static void make(uint64_t *values, size_t n, int kind, uint64_t *seed)
{
	uint64_t now = 1000;
	for (size_t i = 0; i < n; i++) {
		uint64_t r = random_number(seed);
		now += kind == 4 ? r % 3 : 24;
		values[i] = kind == 0	? r << 32 | random_number(seed)
			    : kind == 1 ? r % 5
			    : kind == 3 ? (i % 7) * (i % 7)
			    : kind == 5 ? 42
					: now;
	}
}

static void walks_in_both_directions(void **state)
{
	static uint64_t values[LENGTH];
	uint64_t seed = 1;
	(void)state;
	for (int kind = 0; kind < 6; kind++) {
		make(values, LENGTH, kind, &seed);
		for (int p = 0; p < WET_PREDICTORS; p++)
			for (unsigned context = 1; context <= WET_CONTEXT_MAX;
			     context += context < 4 ? 1 : 4) {
				struct wet_stream *w = wet_stream_new(
					(enum wet_predictor)p, context, TABLE_BITS, values, LENGTH);
				assert_non_null(w);
				assert_int_equal(wet_stream_length(w), LENGTH);
				size_t at = 0;
				for (int step = 0; step < 3 * LENGTH; step++) {
					/* Mostly onwards, then mostly back. */
					bool on = random_number(&seed) % 8 <
						  (step / LENGTH == 1 ? 2u : 6u);
					uint64_t v;
					bool got = on ? wet_stream_next(w, &v)
						      : wet_stream_previous(w, &v);
					assert_int_equal(got, on ? at < LENGTH : at > 0);
					if (!got)
						continue;
					assert_int_equal(v, values[on ? at : at - 1]);
					at += on ? 1 : -1;
					assert_int_equal(wet_stream_position(w), at);
				}
				wet_stream_free(w);
			}
	}
}

/* Figure 6: no matter in which direction a stream is walked, the sequence of states is the same:
 * the size of both sides, the tables, and which entries are hits. */
static void states_do_not_depend_on_the_direction(void **state)
{
	enum { N = 200, ENTRIES = 1 << 4 };
	static uint64_t values[N], tables[N + 1][2][ENTRIES];
	static size_t bits[N + 1];
	static bool hits[N + 1][2];
	uint64_t seed = 7, v;
	(void)state;
	for (int p = 0; p < WET_PREDICTORS; p++)
		for (int kind = 0; kind < 6; kind++) {
			make(values, N, kind, &seed);
			struct wet_stream *w =
				wet_stream_new((enum wet_predictor)p, 3, 4, values, N);
			assert_non_null(w);
			size_t entries = p == WET_FCM || p == WET_DFCM ? ENTRIES : 3;
			for (int pass = 0; pass < 2; pass++)
				for (int i = 0; i <= N; i++) {
					size_t at = wet_stream_position(w);
					assert_int_equal(at, pass ? N - i : i);
					if (!pass)
						bits[at] = wet_stream_bits(w);
					assert_int_equal(bits[at], wet_stream_bits(w));
					for (int side = 0; side < 2; side++) {
						for (size_t k = 0; k < entries; k++) {
							uint64_t e = wet_stream_table(w, side, k);
							if (!pass)
								tables[at][side][k] = e;
							assert_int_equal(tables[at][side][k], e);
						}
						if (side ? at == N : !at)
							continue;
						bool hit = wet_stream_hit(w, side, 0);
						if (!pass)
							hits[at][side] = hit;
						assert_int_equal(hits[at][side], hit);
					}
					if (i < N)
						assert_true(pass ? wet_stream_previous(w, &v)
								 : wet_stream_next(w, &v));
				}
			wet_stream_free(w);
		}
}

/* --- state by state, against the figures' rules written down plainly -----------------------------
 */

enum { PLAIN = 60, CONTEXT = 3 };

/* One side of a stream at one position: what stands for each value on it, oldest first, and what
 * the table holds. */
struct plain_side {
	size_t n, held;
	bool hits[PLAIN + CONTEXT + 1];
	/* FCM: contexts that were met, and the value that stood there the last time. */
	uint64_t contexts[PLAIN + CONTEXT + 1][CONTEXT], values[PLAIN + CONTEXT + 1];
	uint64_t last[CONTEXT]; /* last n: the newest first */
};

/* Figure 5: T where the table has the value at this context, and else F; the table has it then. */
static void plain_fcm(struct plain_side *s, const uint64_t *context, uint64_t v)
{
	size_t at = 0;
	while (at < s->held && memcmp(s->contexts[at], context, sizeof(s->contexts[at])) != 0)
		at++;
	s->hits[s->n++] = (at < s->held ? s->values[at] : 0) == v;
	s->held += at == s->held;
	memcpy(s->contexts[at], context, sizeof(s->contexts[at]));
	s->values[at] = v;
}

/* Figure 7: T where the value is one of the last n, which it leads then; else F, and the oldest
 * goes. */
static void plain_last(struct plain_side *s, uint64_t v)
{
	unsigned at = 0;
	while (at < CONTEXT && s->last[at] != v)
		at++;
	s->hits[s->n++] = at < CONTEXT;
	for (unsigned i = at < CONTEXT ? at : CONTEXT - 1; i; i--)
		s->last[i] = s->last[i - 1];
	s->last[0] = v;
}

/* The side of a position from nothing: on the left the values before the window, from the first one
 * on, each with those on its right as context; on the right those behind it, from the last one on,
 * each with those on its left. @all: zeros as wide as the window, then the stream. */
static void plain(struct plain_side *s, enum wet_predictor p, bool right, const uint64_t *all,
		  size_t n, size_t position)
{
	size_t window = p == WET_FCM ? CONTEXT : p == WET_DFCM ? CONTEXT + 1 : 1;
	size_t count = right ? n - position : position;
	*s = (struct plain_side){0};
	for (size_t k = 0; k < count; k++) {
		const uint64_t *v = right ? all + window + n - 1 - k : all + k;
		ptrdiff_t to = right ? -1 : 1; /* where its context is */
		uint64_t context[CONTEXT] = {0};
		for (int i = 0; i < CONTEXT && p <= WET_DFCM; i++)
			context[i] = v[to * (i + 1)] - (p == WET_DFCM ? v[to * (i + 2)] : 0);
		if (p == WET_FCM || p == WET_DFCM)
			plain_fcm(s, context, *v - (p == WET_DFCM ? v[to] : 0));
		else
			plain_last(s, p == WET_LAST ? *v : right ? *v - v[-1] : v[1] - *v);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Which entry a context chooses is the stream's own: the same values, wherever they are. */
static void same_tables(const struct wet_stream *w, enum wet_predictor p, bool right,
			struct plain_side *s, size_t entries)
{
	if (p == WET_LAST || p == WET_STRIDE) {
		for (size_t i = 0; i < CONTEXT; i++)
			assert_int_equal(wet_stream_table(w, right, i), s->last[i]);
		return;
	}
	uint64_t held[PLAIN + CONTEXT + 1];
	size_t n = 0, m = 0;
	for (size_t i = 0; i < entries; i++)
		if (wet_stream_table(w, right, i)) {
			assert_true(n < PLAIN + CONTEXT);
			held[n++] = wet_stream_table(w, right, i);
		}
	for (size_t i = 0; i < s->held; i++)
		if (s->values[i])
			s->values[m++] = s->values[i];
	assert_int_equal(n, m);
	qsort(held, n, sizeof(*held), compare);
	qsort(s->values, m, sizeof(*s->values), compare);
	assert_memory_equal(held, s->values, n * sizeof(*held));
}

/* Figures 5 to 7: at each position, from either direction, both sides are what their rules give. */
static void states_are_those_of_the_figures(void **state)
{
	enum { TABLE = 16 };
	static struct plain_side s;
	uint64_t seed = 11, all[CONTEXT + 1 + PLAIN], v;
	unsigned hits[WET_PREDICTORS] = {0}, misses[WET_PREDICTORS] = {0};
	(void)state;
	for (int p = 0; p < WET_PREDICTORS; p++)
		for (int kind = 0; kind < 6; kind++) {
			size_t window = p == WET_FCM ? CONTEXT : p == WET_DFCM ? CONTEXT + 1 : 1;
			memset(all, 0, sizeof(all));
			make(all + window, PLAIN, kind, &seed);
			struct wet_stream *w = wet_stream_new((enum wet_predictor)p, CONTEXT, TABLE,
							      all + window, PLAIN);
			assert_non_null(w);
			for (int step = 0; step <= 2 * PLAIN; step++) {
				size_t at = wet_stream_position(w);
				for (int right = 0; right < 2; right++) {
					plain(&s, (enum wet_predictor)p, right, all, PLAIN, at);
					for (size_t k = 0; k < s.n; k++) {
						bool hit = s.hits[s.n - 1 - k];
						assert_int_equal(wet_stream_hit(w, right, k), hit);
						(hit ? hits : misses)[p]++;
					}
					same_tables(w, (enum wet_predictor)p, right, &s,
						    1 << TABLE);
				}
				if (step < 2 * PLAIN)
					assert_true(step < PLAIN ? wet_stream_next(w, &v)
								 : wet_stream_previous(w, &v));
			}
			wet_stream_free(w);
		}
	for (int p = 0; p < WET_PREDICTORS; p++)
		assert_true(hits[p] > 1000 && misses[p] > 1000);
}

/* Figure 5, with its numbers at hand: behind the first period each value was seen behind its
 * context, and is one bit. */
static void fcm_predicts_what_it_has_seen(void **state)
{
	uint64_t values[60], v;
	(void)state;
	for (int i = 0; i < 60; i++)
		values[i] = (const uint64_t[]){5, 9, 2, 7}[i % 4];
	struct wet_stream *w = wet_stream_new(WET_FCM, 3, 10, values, 60);
	assert_non_null(w);
	for (int i = 0; i < 60; i++)
		assert_true(wet_stream_next(w, &v));
	/* All on the left: after the period was seen once, each value is predicted by the three on
	 * its right. */
	for (size_t distance = 0; distance < 50; distance++)
		assert_true(wet_stream_hit(w, false, distance));
	wet_stream_free(w);
}

/* Figure 7: a value among the last n is named by its place there and comes to the front; another
 * pushes out the oldest. */
static void last_n_keeps_the_newest_in_front(void **state)
{
	const uint64_t values[] = {1, 2, 3, 2, 4, 4, 9};
	/* 9 is in the window; before it 4, 2 and 3 were the newest. */
	static const uint64_t newest[3] = {4, 2, 3};
	struct wet_stream *w = wet_stream_new(WET_LAST, 3, 2, values, 7);
	uint64_t v;
	(void)state;
	assert_non_null(w);
	while (wet_stream_next(w, &v))
		;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(wet_stream_table(w, false, i), newest[i]);
	wet_stream_free(w);
}

/* The predictor that fits the stream is the one that is chosen. */
static void the_best_one_is_chosen(void **state)
{
	uint64_t stride[LENGTH], period[LENGTH];
	(void)state;
	for (int i = 0; i < LENGTH; i++) {
		stride[i] = 24 * (uint64_t)i;
		period[i] = (const uint64_t[]){11, 3, 11, 8, 90, 1 << 20, 7, 3}[i % 8] << 20;
	}
	struct wet_stream *w = wet_stream_best(stride, LENGTH, LENGTH);
	assert_non_null(w);
	enum wet_predictor p = wet_stream_predictor(w, NULL);
	assert_true(p == WET_DFCM || p == WET_STRIDE);
	assert_true(wet_stream_bits(w) < 2 * LENGTH);
	wet_stream_free(w);
	w = wet_stream_best(period, LENGTH, LENGTH);
	assert_non_null(w);
	p = wet_stream_predictor(w, NULL);
	assert_true(p == WET_FCM || p == WET_DFCM);
	assert_true(wet_stream_bits(w) < 2 * LENGTH);
	wet_stream_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_in_both_directions),
		cmocka_unit_test(states_do_not_depend_on_the_direction),
		cmocka_unit_test(states_are_those_of_the_figures),
		cmocka_unit_test(fcm_predicts_what_it_has_seen),
		cmocka_unit_test(last_n_keeps_the_newest_in_front),
		cmocka_unit_test(the_best_one_is_chosen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
