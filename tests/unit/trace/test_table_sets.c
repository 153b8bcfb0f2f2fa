// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_table_sets.c: claims of the sets of tables that iterators of a trace hand on: two that have
 * one at a time never have the same, and what was made in one that was given back is there for the
 * next; also where many threads take and give back at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "offline/trace/table_sets.h"

enum { THREADS = 4, TURNS = 20000 };

static void a_set_has_one_owner_and_keeps_its_tables(void **state)
{
	(void)state;
	struct table_sets *sets;
	const struct pugmark_plan plan = {0};
	assert_int_equal(table_sets_new(&sets), 0);
	struct table_set *a = table_sets_take(sets), *b = table_sets_take(sets);
	assert_true(a && b && a != b);
	assert_null(a->tables[0]);
	assert_int_equal(parse_tables_new(&plan, &a->tables[0]), 0);
	struct parse_tables *made = a->tables[0];
	table_sets_give_back(sets, a);
	struct table_set *c = table_sets_take(sets);
	assert_ptr_equal(c, a);
	assert_ptr_equal(c->tables[0], made);
	table_sets_give_back(sets, b);
	table_sets_give_back(sets, c);
	table_sets_free(sets);
}

struct crowd {
	struct table_sets *sets;
	_Atomic uint32_t shared; /* times that a set had two owners */
};

/* The last slot, which no module has, says whether somebody owns the set. */
static void *take_turns(void *of)
{
	struct crowd *crowd = of;
	for (int i = 0; i < TURNS; i++) {
		struct table_set *set = table_sets_take(crowd->sets);
		struct parse_tables **owned = &set->tables[SEGMENT_MAX_MODULES];
		if (__atomic_exchange_n(owned, (struct parse_tables *)set, __ATOMIC_SEQ_CST))
			crowd->shared++;
		__atomic_store_n(owned, NULL, __ATOMIC_SEQ_CST);
		table_sets_give_back(crowd->sets, set);
	}
	return NULL;
}

static void many_threads_never_share_one(void **state)
{
	(void)state;
	struct crowd crowd = {0};
	pthread_t threads[THREADS];
	assert_int_equal(table_sets_new(&crowd.sets), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &crowd), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.shared, 0);
	table_sets_free(crowd.sets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_has_one_owner_and_keeps_its_tables),
		cmocka_unit_test(many_threads_never_share_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
