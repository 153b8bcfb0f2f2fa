// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_waking.c: from when to when a thread may have executed, by its records: before its first one
 * only where that tells of its beginning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>

#include "offline/replay/records/waking.h"

static const struct capture read_at_8 = {
	.kind = CAPTURE_KERNEL, .nr = SYS_read, .entered = 8, .order = 9};

static void assert_first_span(const struct capture *first, uint64_t from, uint64_t to)
{
	struct waking w = {0};
	struct span span;
	bool told = value_waking_next(&w, first, &span);

	if (!told)
		told = value_waking_next(&w, &read_at_8, &span);
	assert_true(told);
	assert_int_equal(span.from, from);
	assert_int_equal(span.to, to);
}

static void test_a_beginning_is_one(void **state)
{
	(void)state;
	const struct capture start = {.kind = CAPTURE_START};
	const struct capture made = {
		.kind = CAPTURE_KERNEL, .nr = SYS_clone3, .entered = 3, .order = 4};

	assert_first_span(&start, 0, 8);
	assert_first_span(&made, 4, 8);
}

static void test_what_is_no_beginning_hides_one(void **state)
{
	(void)state;
	const struct capture lost = {.kind = CAPTURE_LOST, .order = 5};

	assert_first_span(&read_at_8, 0, 8);
	assert_first_span(&lost, 0, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_beginning_is_one),
		cmocka_unit_test(test_what_is_no_beginning_hides_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
