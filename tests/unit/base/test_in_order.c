// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_in_order.c: numbers are sorted as qsort() sorts them, and a search by address finds with an
 * index what it finds without: of random arrays, of such with equal items, and of such that are not
 * in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offline/base/addr_index.h"
#include "offline/base/sort.h"

enum { MOST = 5000 };

static uint64_t number(uint64_t below)
{
	uint64_t bits = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
	return below ? bits % below : bits;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void sorted_as_by_comparing(void **context)
{
	(void)context;
	static const uint64_t below[] = {0, 1, 2, 300, 1 << 11, 1 << 20, 1ull << 33, 1ull << 63};
	static uint64_t at[MOST], same[MOST];
	srand(1);
	for (int round = 0; round < 400; round++) {
		uint32_t n = (uint32_t)number(round % 2 ? MOST : 40);
		uint64_t from = number(0) >> 1;
		for (uint32_t i = 0; i < n; i++)
			same[i] = at[i] = from + number(below[round % 8]);
		sort_u64(at, n);
		qsort(same, n, sizeof(*same), compare);
		assert_memory_equal(at, same, n * sizeof(*at));
	}
}

static uint32_t above(const uint64_t *at, uint32_t n, uint64_t addr)
{
	uint32_t i = 0;
	while (i < n && at[i] <= addr)
		i++;
	return i;
}

static void found_as_without(void **context)
{
	(void)context;
	static uint64_t at[MOST];
	struct addr_index x = {0};
	srand(2);
	for (int round = 0; round < 200; round++) {
		uint32_t n = (uint32_t)number(round % 2 ? MOST : 5);
		uint64_t from = round % 3 ? number(1ull << 40) : 0;
		uint64_t span = round % 5 ? 1 + number(1ull << (round % 40)) : UINT64_MAX / 2;
		for (uint32_t i = 0; i < n; i++)
			at[i] = from + number(span);
		sort_u64(at, n);
		ADDR_INDEX_MAKE(&x, n, i, at[i]);
		assert_true(!n || x.first);
		for (int k = 0; k < 200; k++) {
			uint64_t addr =
				k < 100 && n ? at[number(n)] + (uint64_t)(k % 3) - 1 : number(0);
			assert_int_equal(ADDR_INDEX_ABOVE(&x, n, addr, i, at[i]),
					 above(at, n, addr));
		}
	}
	addr_index_deinit(&x);
}

static void out_of_order_is_not_indexed(void **context)
{
	(void)context;
	const uint64_t middle[] = {10, 40, 30, 50}, last[] = {10, 20, 5}, past[] = {10, 90, 50};
	struct addr_index x = {0};
	ADDR_INDEX_MAKE(&x, 4, i, middle[i]);
	assert_null(x.first);
	ADDR_INDEX_MAKE(&x, 3, i, last[i]);
	assert_null(x.first);
	ADDR_INDEX_MAKE(&x, 3, i, past[i]);
	assert_null(x.first);
	addr_index_deinit(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorted_as_by_comparing),
		cmocka_unit_test(found_as_without),
		cmocka_unit_test(out_of_order_is_not_indexed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
