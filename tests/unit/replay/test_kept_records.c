// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_kept_records.c: records of random fields, most of them zero as in real ones, read back in
 * any order are what was kept; those that were asked for last stay where they are. */
#include "offline/replay/records/kept_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RECORDS = 3000, WORDS = sizeof(struct capture) / 8 };

static uint64_t seed = 7;

static uint64_t next(void)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return seed >> 11;
}

/* Of every word by chance; none at all, and all of them, are among them. */
static void make(struct capture *c, uint64_t i)
{
	uint64_t words[WORDS];
	for (unsigned w = 0; w < WORDS; w++)
		words[w] = i % 100 == 1 || (i % 100 && next() % 5 == 0) ? next() + 1 : 0;
	memcpy(c, words, sizeof(*c));
	c->ranges = NULL;
}

static void test_read_back(void **state)
{
	(void)state;
	struct capture *made = calloc(RECORDS, sizeof(*made));
	struct kept_records k = {0};
	for (uint64_t i = 0; i < RECORDS; i++) {
		make(&made[i], i);
		assert_true(kept_records_add(&k, &made[i]));
	}
	assert_int_equal(k.n, RECORDS);
	for (uint64_t i = 0; i < RECORDS; i++)
		assert_memory_equal(kept_records_at(&k, i), &made[i], sizeof(*made));
	for (unsigned n = 0; n < 4 * RECORDS; n++) {
		uint64_t i = next() % RECORDS;
		assert_memory_equal(kept_records_at(&k, i), &made[i], sizeof(*made));
	}
	for (uint64_t i = RECORDS - KEPT_AT_HAND; i-- > KEPT_AT_HAND;) {
		const struct capture *c = kept_records_at(&k, i);
		for (uint64_t n = 1; n < KEPT_AT_HAND; n++)
			kept_records_at(&k, i + n);
		assert_memory_equal(c, &made[i], sizeof(*made));
	}
	kept_records_deinit(&k);
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_read_back)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
