// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_rates.c: an interval of calls a second holds the true rate in 95 of 100 tries (94, by so
 * many tries), over processes of known rates, steady and not; in 92 where recordings differ in a
 * way that Student's distribution is not made for; and it is narrow where much was seen. */
#include "user/view/report/rates.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TRIES = 4000 };

static double normal(void)
{
	double u = drand48(), v = drand48();
	return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

/* A count of mean @mean: exponential gaps, or above 50 the normal distribution beside it. */
static uint64_t count(double mean)
{
	uint64_t n = 0;
	if (mean > 50) {
		double c = mean + sqrt(mean) * normal();
		return c > 0 ? llround(c) : 0;
	}
	for (double t = -log(1 - drand48()); t < mean; t -= log(1 - drand48()))
		n++;
	return n;
}

enum how { NORMAL, EVEN };

/* @n recordings of a second each; the rate of each differs from @rate by so much of it. */
static struct rate observe(double rate, uint32_t n, enum how how, double uneven)
{
	struct rate r = {0};
	for (uint32_t i = 0; i < n; i++) {
		double by = how == NORMAL ? normal() : 2 * drand48() - 1;
		uint64_t c = count(rate * (1 + uneven * by));
		r.calls += c;
		r.told += c;
		r.least += c;
		r.most += c;
		r.squares += (double)c * c;
		r.on_s++;
		r.n++;
	}
	rate_settle(&r);
	return r;
}

static void holds(double rate, uint32_t n, enum how how, double uneven, double least)
{
	int held = 0;
	for (int i = 0; i < TRIES; i++) {
		struct rate r = observe(rate, n, how, uneven);
		held += r.low <= rate && rate <= r.high;
	}
	if (held < least * TRIES)
		print_message("rate %g, %u recordings, uneven by %g: %.3f\n", rate, n, uneven,
			      held / (double)TRIES);
	assert_true(held >= least * TRIES);
}

static void test_steady(void **state)
{
	(void)state;
	srand48(1);
	for (uint32_t n = 1; n <= 30; n += n < 5 ? 1 : 5)
		for (double rate = 0.3; rate < 1e6; rate *= 7)
			holds(rate, n, NORMAL, 0, 0.94);
}

static void test_uneven(void **state)
{
	(void)state;
	srand48(2);
	for (uint32_t n = 2; n <= 30; n += n < 5 ? 1 : 5)
		for (double rate = 3; rate < 1e5; rate *= 13) {
			holds(rate, n, NORMAL, 0.2, 0.94);
			holds(rate, n, EVEN, 0.5, 0.92);
		}
}

static void test_narrow(void **state)
{
	(void)state;
	srand48(3);
	for (int i = 0; i < 100; i++) {
		struct rate r = observe(10000, 20, NORMAL, 0);
		assert_true(r.high - r.low < 0.02 * r.mean);
	}
	struct rate none = {.on_s = 10, .n = 1};
	rate_settle(&none);
	assert_true(none.low == 0 && none.high > 0.3 && none.high < 0.4); /* 3.69 calls in 10 s */
}

/* Calls that may be missing at the edges, or were lost, lie in the interval. */
static void test_missing(void **state)
{
	(void)state;
	struct rate r = {.on_s = 10, .n = 1, .calls = 80, .told = 100, .least = 78, .most = 120};
	struct rate all = {
		.on_s = 10, .n = 1, .calls = 120, .told = 120, .least = 120, .most = 120};
	struct rate few = {.on_s = 10, .n = 1, .calls = 78, .told = 78, .least = 78, .most = 78};
	rate_settle(&r);
	rate_settle(&all);
	rate_settle(&few);
	assert_true(r.mean == 10 && r.low == few.low && r.high == all.high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_missing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
