// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_activations.c: which calls are open, by the places of their return addresses: after returns,
 * longjmp, jumps that take a call's place, loops to a function's beginning, and handlers on this
 * and on another stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/values/watch/value_activations.h"

enum { F = 1, G = 2 };

static void call(struct activations *a, uint64_t slot, uint32_t function)
{
	activations_call(a, slot);
	assert_true(activations_enter(a, function));
}

static void returns_end_calls(void **state)
{
	struct activations a = {0};

	(void)state;
	call(&a, 0x1000, F);
	call(&a, 0xf00, G);
	call(&a, 0xe00, F);
	activations_return(&a, 0xe00);
	assert_int_equal(activations_top(&a)->function, G);
	activations_return(&a, 0xf00);
	assert_int_equal(activations_top(&a)->slot, 0x1000);
	activations_return(&a, 0x1000);
	assert_null(activations_top(&a));
	activations_deinit(&a);
}

static void what_was_left_by_a_jump_is_over(void **state)
{
	struct activations a = {0};

	(void)state;
	call(&a, 0x1000, F);
	call(&a, 0xf00, G);
	call(&a, 0xe00, G);
	activations_unwind(&a, 0xf80); /* longjmp() into F */
	assert_int_equal(a.at.n, 1);
	call(&a, 0xe80, G);
	call(&a, 0xe80, F); /* the same place: the call before cannot be open */
	assert_int_equal(a.at.n, 2);
	assert_int_equal(activations_top(&a)->function, F);
	activations_deinit(&a);
}

static void a_jump_takes_a_call_s_place_and_a_loop_does_not(void **state)
{
	struct activations a = {0};

	(void)state;
	call(&a, 0x1000, F);
	assert_false(activations_enter(&a, F)); /* a loop to its beginning */
	assert_true(activations_enter(&a, G));	/* a tail call */
	assert_int_equal(a.at.n, 1);
	assert_int_equal(activations_top(&a)->slot, 0x1000);
	activations_deinit(&a);
}

static void a_handler_ends_no_call(void **state)
{
	static const uint64_t stacks[] = {0xc00, 0x9000}; /* the same one, and another above it */

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct activations a = {0};

		call(&a, 0x1000, F);
		activations_signal(&a, 0xe00);
		assert_null(activations_top(&a));
		call(&a, stacks[i], G);
		call(&a, stacks[i] - 0x100, F);
		activations_return(&a, stacks[i] - 0x100);
		activations_return(&a, stacks[i]);
		activations_unwind(&a, stacks[i] + 8);
		activations_sigreturn(&a);
		assert_int_equal(a.at.n, 1);
		assert_int_equal(activations_top(&a)->slot, 0x1000);
		activations_deinit(&a);
	}
}

static void a_handler_that_jumps_out_is_over(void **state)
{
	struct activations a = {0};

	(void)state;
	call(&a, 0x1000, F);
	call(&a, 0xf00, G);
	activations_signal(&a, 0xe00);
	call(&a, 0xc00, G);
	activations_unwind(&a, 0xf80);
	assert_int_equal(a.at.n, 1);
	assert_int_equal(activations_top(&a)->function, F);
	activations_deinit(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(returns_end_calls),
		cmocka_unit_test(what_was_left_by_a_jump_is_over),
		cmocka_unit_test(a_jump_takes_a_call_s_place_and_a_loop_does_not),
		cmocka_unit_test(a_handler_ends_no_call),
		cmocka_unit_test(a_handler_that_jumps_out_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
