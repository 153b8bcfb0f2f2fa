// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_ranges.c: claims about what of a timeline is seen, against all calls in a plain list: each
 * call that is drawn is one that was made, in order; each of a pixel or more is drawn; where calls
 * are, at most two pixels away one is drawn; and of those that are small the longest of its pixel
 * is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/serve/ranges.h"

enum { CALLS = 60000, ASKED = 300, DEPTHS = 3 };

struct made {
	uint64_t from, to;
	uint32_t frame;
};
static struct made made[DEPTHS][CALLS];
static uint32_t n_made[DEPTHS];
static uint64_t now, seed = 7;

static uint64_t chance(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* A random tree of calls of three depths; of each a list of what was made. */
static void make_calls(struct ranges *r, uint32_t track, unsigned depth)
{
	while (n_made[depth] < CALLS && chance(40)) {
		struct made *m = &made[depth][n_made[depth]++];
		now += chance(4) ? chance(20) : chance(100000);
		*m = (struct made){now, 0, (uint32_t)chance(1000)};
		assert_int_equal(ranges_call(r, track, now, 3, m->frame), 0);
		if (depth + 1 < DEPTHS)
			make_calls(r, track, depth + 1);
		now += chance(50) ? chance(30) : chance(1000000);
		m->to = now;
		assert_int_equal(ranges_ret(r, track, now, 0), 0);
	}
}

static struct ranges *new_ranges(void)
{
	struct ranges *r;
	int fd = memfd_create("ranges", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ranges_new(fd, &r), 0);
	assert_int_equal(ranges_track(r, 0, 5, 2), 0);
	return r;
}

static uint64_t next(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		assert_true(*at < end);
		value |= (uint64_t)(**at & 127) << shift;
		if (*(*at)++ < 128)
			return value;
	}
}

/* The calls of @row that are seen, checked one by one. */
static void check_row(const struct made *all, uint32_t n, const uint8_t **at, const uint8_t *end,
		      uint64_t from, uint64_t to, double pixel)
{
	static uint8_t drawn[CALLS];
	uint64_t count = next(at, end), last = 0, k = 0;
	memset(drawn, 0, n);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = last + next(at, end), length = next(at, end);
		uint64_t frame = next(at, end);
		assert_int_equal(next(at, end), 3);
		while (k < n && (all[k].from != begin || all[k].to - all[k].from != length ||
				 all[k].frame != frame))
			k++;
		assert_true(k < n);
		drawn[k++] = 1;
		last = begin;
	}
	uint32_t longest = 0;
	for (uint32_t i = 0; i < n; i++)
		if (all[i].to - all[i].from > all[longest].to - all[longest].from)
			longest = i;
	if (!from && to >= all[n - 1].to)
		assert_true(drawn[longest]);
	if (pixel > now / 100.)
		return; /* what follows takes time in proportion to the calls of a pixel */
	double seen_to = -1;
	for (uint32_t i = 0; i < n; i++) {
		if (all[i].to < from || all[i].from > to)
			continue;
		double a = (double)(all[i].from > from ? all[i].from - from : 0);
		double b = (double)((all[i].to < to ? all[i].to : to) - from);
		if (drawn[i]) {
			seen_to = b;
			continue;
		}
		assert_true(b - a < pixel);
		bool near = seen_to >= a - 2 * pixel, longer = false;
		for (uint32_t j = i + 1; j < n && !near && all[j].from <= all[i].from + 2 * pixel;
		     j++)
			near = drawn[j];
		assert_true(near);
		/* One that is drawn within a pixel is as long, where the whole call is in view. */
		for (uint32_t j = i;
		     j-- > 0 && !longer &&
		     (double)(all[j].from > from ? all[j].from : from) + pixel + 1 >=
			     (double)all[i].from;)
			longer = drawn[j] && all[j].to - all[j].from >= all[i].to - all[i].from;
		for (uint32_t j = i + 1; j < n && !longer && all[j].from <= all[i].from + pixel + 1;
		     j++)
			longer = drawn[j] && all[j].to - all[j].from >= all[i].to - all[i].from;
		if (!longer && all[i].from >= from && all[i].to <= to)
			fail_msg("call %u is the longest of its pixel", i);
	}
}

static void what_is_seen_is_there(void **state)
{
	struct ranges *r = new_ranges();
	(void)state;
	while (n_made[0] < 2000)
		make_calls(r, 0, 0);
	ranges_finish(r, now);
	assert_true(n_made[2] > 20000);
	for (unsigned i = 0; i < ASKED; i++) {
		uint64_t from = i > 4 ? chance(now) : 0;
		uint64_t to = from + 1 + (i > 4 ? chance((now - from) >> chance(30)) : now);
		uint32_t width = i < 5 ? 1 + i * i * i : (uint32_t)(100 + chance(1400));
		uint8_t *bytes;
		size_t n;
		assert_int_equal(ranges_get(r, from, to, width, &bytes, &n), 0);
		const uint8_t *at = bytes, *end = bytes + n;
		assert_int_equal(next(&at, end), 1);
		assert_int_equal(next(&at, end), 5);
		assert_int_equal(next(&at, end), 2);
		assert_int_equal(next(&at, end), DEPTHS);
		assert_int_equal(next(&at, end), 0);
		assert_int_equal(next(&at, end), DEPTHS);
		for (unsigned d = 0; d < DEPTHS; d++)
			check_row(made[d], n_made[d], &at, end, from, to,
				  (double)(to - from) / width);
		assert_ptr_equal(at, end);
		free(bytes);
	}
	ranges_free(r);
}

/* Many tracks and a hostile width: the answer stays bounded; deep calls are counted, not kept. */
static void an_answer_is_bounded(void **state)
{
	struct ranges *r = new_ranges();
	uint8_t *bytes;
	size_t n;
	(void)state;
	for (uint32_t t = 0; t < 200; t++) {
		assert_int_equal(ranges_track(r, t, t, 0), 0);
		for (uint64_t i = 0; i < 8192; i++) {
			assert_int_equal(ranges_call(r, t, i << 30, UINT64_MAX, 1), 0);
			assert_int_equal(ranges_gap(r, t, i << 30, 1 << 29, 2), 0);
			assert_int_equal(ranges_ret(r, t, (i + 1) << 30, 0), 0);
		}
	}
	for (unsigned d = 0; d < 100000; d++)
		assert_int_equal(ranges_call(r, 0, 1ull << 43, 0, 7), 0);
	ranges_finish(r, 1ull << 44);
	assert_int_equal(ranges_get(r, 0, 1ull << 44, 8192, &bytes, &n), 0);
	assert_true(n < RANGES_ANSWER_MAX + 100000);
	const uint8_t *at = bytes, *end = bytes + n;
	assert_int_equal(next(&at, end), 200);
	assert_int_equal(next(&at, end), 5);
	assert_int_equal(next(&at, end), 2);
	assert_int_equal(next(&at, end), 100000);
	free(bytes);
	ranges_free(r);
}

static void an_empty_one_answers(void **state)
{
	struct ranges *r = new_ranges();
	uint8_t *bytes;
	size_t n;
	(void)state;
	assert_int_equal(ranges_ret(r, 0, 5, 0), 0); /* a return without its call */
	ranges_finish(r, 9);
	assert_int_equal(ranges_get(r, 0, 1, 1, &bytes, &n), 0);
	assert_int_equal(n, 6);
	free(bytes);
	ranges_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_seen_is_there),
		cmocka_unit_test(an_answer_is_bounded),
		cmocka_unit_test(an_empty_one_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
