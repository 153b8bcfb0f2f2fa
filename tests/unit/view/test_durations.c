// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_durations.c: quantiles from buckets hold the exact ones, found by sorting, and lie within
 * one part in 32 of them; moments as people write them. */
#include "user/view/report/durations.h"
#include "user/view/trace/when.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { N = 4096 };

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void quantiles_hold_the_exact_ones(void **state)
{
	static const double shares[] = {0, .01, .25, .5, .9, .99, .999, 1};
	(void)state;
	srandom(7);
	for (int round = 0; round < 200; round++) {
		struct durations d = {0}, half = {0};
		static uint64_t all[N];
		size_t n = 1 + (size_t)random() % N;
		for (size_t i = 0; i < n; i++) {
			all[i] = ((uint64_t)random() << 31 | (uint64_t)random()) >> (random() % 62);
			assert_int_equal(durations_add(i % 2 ? &d : &half, all[i]), 0);
		}
		assert_int_equal(durations_merge(&d, &half), 0);
		qsort(all, n, sizeof(*all), by_size);
		assert_int_equal(d.n, n);
		assert_int_equal(d.min_ns, all[0]);
		assert_int_equal(d.max_ns, all[n - 1]);
		for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
			uint64_t low, high;
			size_t rank = (size_t)(shares[i] * (double)n);
			rank += (double)rank < shares[i] * (double)n;
			uint64_t exact = all[rank ? rank - 1 : 0];
			durations_quantile(&d, shares[i], &low, &high);
			assert_true(low <= exact && exact <= high);
			assert_true(high - low <= exact / 32);
		}
		durations_deinit(&d);
		durations_deinit(&half);
	}
}

static void durations_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"10", 10000000000}, {"1.5", 1500000000}, {"20ms", 20000000},
		    {"3us", 3000},	 {"7ns", 7},	      {"2s", 2000000000}};
	static const char *const bad[] = {"", "x", "-1", "1m", "1 s", "ms", "nan", "1e30"};
	uint64_t ns;
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(when_parse_duration(good[i].text, &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(when_parse_duration(bad[i], &ns));
}

#define S 1000000000ul

static uint64_t resolved(const char *text, uint64_t start_real_ns, uint64_t seconds)
{
	struct when when;
	assert_true(when_parse(text, &when));
	return when_resolve(&when, 500 * S, start_real_ns, (500 + seconds) * S);
}

static void times_of_day_are_of_the_recording(void **state)
{
	/* 2026-03-05 23:50:00 UTC */
	const uint64_t start = 1772754600ul * S;
	struct when when;
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(resolved("23:50:10", start, 100), 510 * S);
	assert_int_equal(resolved("23:50:10.25", start, 100), 510 * S + S / 4);
	assert_int_equal(resolved("23:51", start, 100), 560 * S);
	assert_int_equal(resolved("00:10", start, 3600), 500 * S + 1200 * S);
	assert_int_equal(resolved("23:49:50", start, 100), 490 * S);
	assert_int_equal(resolved("2026-03-06T00:00:00", start, 3600), 1100 * S);
	assert_int_equal(resolved("2026-03-06 00:00", start, 100), 1100 * S);
	assert_int_equal(resolved("2020-01-01T00:00", start, 100), 0);
	assert_int_equal(resolved("2ms", start, 100), 500 * S + 2000000);
	setenv("TZ", "UTC-1", 1); /* an hour east of it: what is 23:50 there is 00:50 */
	tzset();
	assert_int_equal(resolved("00:50:10", start, 100), 510 * S);
	static const char *const bad[] = {"24:00",	"12:60",  ":12",
					  "12:00:99",	"12:00x", "2026-13-01T00:00",
					  "2026-01-01", "12:00:"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(when_parse(bad[i], &when));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_hold_the_exact_ones),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(times_of_day_are_of_the_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
