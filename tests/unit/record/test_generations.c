// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_generations.c: which module of a recording a site was of, after what is probed has changed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/file/text_span.h"
#include "user/record/write/generations.h"

static const struct recorder_module modules[BATCH_MODULES + 1] = {
	{.n_sites = 3}, {.n_sites = 0}, {.n_sites = 1}, {.n_sites = 5}};
static struct text_span spans[BATCH_MODULES + 1];

static int add(struct generations *all, uint32_t n_modules, uint32_t *first)
{
	struct recorder_options options = {.modules = modules, .n_modules = n_modules};
	return generations_add(all, &options, spans, first);
}

static void modules_are_counted_over_all(void **context)
{
	(void)context;
	struct generations *all = calloc(1, sizeof(*all));
	uint32_t first = 99;
	for (uint32_t i = 0; i < BATCH_MODULES; i++)
		spans[i] = (struct text_span){.addr = 1000 * i, .end = 1000 * i + 500};
	assert_null(generations_last(all));
	assert_null(generations_at(all, 0));
	assert_int_equal(add(all, 4, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(add(all, 2, &first), 0);
	assert_int_equal(first, 4);
	assert_int_equal(add(all, 1, &first), 0);
	assert_int_equal(first, 6);
	assert_null(generations_at(all, 3));
	assert_ptr_equal(generations_last(all), generations_at(all, 2));
	const uint32_t firsts[] = {0, 4, 6}, counts[] = {4, 2, 1};
	for (uint32_t g = 0; g < 3; g++) {
		const struct generation *one = generations_at(all, g);
		assert_int_equal(one->first, firsts[g]);
		assert_int_equal(one->n, counts[g]);
		for (uint32_t m = 0; m < one->n; m++) {
			assert_int_equal(one->text_addr[m], spans[m].addr);
			assert_int_equal(one->text_end[m], spans[m].end);
		}
	}
	free(all);
}

static void each_site_is_of_one_module(void **context)
{
	(void)context;
	struct generations *all = calloc(1, sizeof(*all));
	const uint32_t slots[] = {0, 0, 0, 2, 3, 3, 3, 3, 3};
	uint32_t first;
	assert_int_equal(add(all, 4, &first), 0);
	for (uint32_t site = 0; site < 9; site++)
		assert_int_equal(generation_slot(generations_last(all), site), slots[site]);
	free(all);
}

/* As often and as many as there is room for; what is too much changes nothing. */
static void there_are_limits(void **context)
{
	(void)context;
	struct generations *all = calloc(1, sizeof(*all));
	uint32_t first = 99;
	assert_int_equal(add(all, BATCH_MODULES + 1, &first), -E2BIG);
	assert_int_equal(add(all, BATCH_MODULES - 1, &first), 0);
	first = 99;
	assert_int_equal(add(all, 2, &first), -E2BIG);
	assert_int_equal(first, 99);
	assert_null(generations_at(all, 1));
	assert_int_equal(add(all, 1, &first), 0);
	assert_int_equal(first, BATCH_MODULES - 1);
	memset(all, 0, sizeof(*all));
	for (uint32_t i = 0; i < GENERATIONS_MAX; i++)
		assert_int_equal(add(all, 0, &first), 0);
	assert_int_equal(add(all, 0, &first), -E2BIG);
	assert_ptr_equal(generations_last(all), &all->at[GENERATIONS_MAX - 1]);
	free(all);
}

static void when_each_was_in_use_is_known(void **context)
{
	(void)context;
	struct generations *all = calloc(1, sizeof(*all));
	uint32_t first;
	generations_began(all, 5);
	generations_ended(all, 5);
	for (int i = 0; i < 3; i++)
		assert_int_equal(add(all, 1, &first), 0);
	generations_began(all, 100); /* the third: from the second without a break */
	assert_int_equal(all->at[1].ended_ns, 100);
	assert_int_equal(all->at[2].began_ns, 100);
	assert_int_equal(all->at[2].ended_ns, 0);
	generations_ended(all, 200);
	assert_int_equal(all->at[2].ended_ns, 200);
	assert_int_equal(add(all, 1, &first), 0);
	generations_began(all, 300); /* the fourth: after a break */
	assert_int_equal(all->at[2].ended_ns, 200);
	assert_int_equal(all->at[3].began_ns, 300);
	assert_int_equal(all->at[0].began_ns + all->at[0].ended_ns + all->at[1].began_ns, 0);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules_are_counted_over_all),
		cmocka_unit_test(each_site_is_of_one_module),
		cmocka_unit_test(there_are_limits),
		cmocka_unit_test(when_each_was_in_use_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
