// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_causes.c: claims about which of several causes an event has: a stronger one makes a weaker
 * one go, in whichever order they were found; and of those that no rule ranks all are left, which
 * is a gap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "offline/recover/explain/explain.h"

/* The causes that are left of @n, a bit each. */
static uint32_t left_of(const uint8_t *causes, uint32_t n)
{
	static struct candidates set;
	uint32_t left = 0;
	set.n = 0;
	for (uint32_t i = 0; i < n; i++)
		candidate_add(&set, &(struct candidate){.cause = causes[i]});
	causes_drop_weaker(&set);
	for (uint32_t i = 0; i < set.n; i++)
		left |= 1u << set.at[i].cause;
	return left;
}

static bool beats(uint8_t a, uint8_t b)
{
	return left_of((uint8_t[]){a, b}, 2) == 1u << a;
}

static void stronger_than_a_stronger_one_is_stronger(void **state)
{
	(void)state;
	uint32_t ranked = 0;
	for (uint8_t a = 0; a < N_CAUSES; a++)
		for (uint8_t b = 0; b < N_CAUSES; b++) {
			if (a == b || !beats(a, b))
				continue;
			ranked++;
			assert_false(beats(b, a));
			for (uint8_t c = 0; c < N_CAUSES; c++)
				assert_true(!beats(b, c) || b == c || beats(a, c));
		}
	print_message("%u of %u pairs of causes are ranked\n", ranked,
		      N_CAUSES * (N_CAUSES - 1) / 2);
	assert_true(ranked > 0);
}

static void the_order_makes_no_difference(void **state)
{
	(void)state;
	for (uint8_t a = 0; a < N_CAUSES; a++)
		for (uint8_t b = 0; b < N_CAUSES; b++)
			for (uint8_t c = 0; c < N_CAUSES; c++) {
				uint32_t left = left_of((uint8_t[]){a, b, c}, 3);
				assert_int_equal(left, left_of((uint8_t[]){c, b, a}, 3));
				assert_int_equal(left, left_of((uint8_t[]){b, a, c}, 3));
				assert_int_not_equal(left, 0);
			}
}

/* A call that may switch stacks, and a stack that shows a call in progress. */
static void what_no_rule_ranks_is_left(void **state)
{
	(void)state;
	uint8_t either[] = {CAUSE_NEW_STACK, CAUSE_CALLBACK};
	uint8_t nothing_shown[] = {CAUSE_OUTSIDE, CAUSE_NEW_STACK, CAUSE_MOVED};
	assert_int_equal(left_of(either, 2), 1u << CAUSE_NEW_STACK | 1u << CAUSE_CALLBACK);
	assert_int_equal(left_of(nothing_shown, 3), 1u << CAUSE_NEW_STACK | 1u << CAUSE_OUTSIDE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stronger_than_a_stronger_one_is_stronger),
		cmocka_unit_test(the_order_makes_no_difference),
		cmocka_unit_test(what_no_rule_ranks_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
