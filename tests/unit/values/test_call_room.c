// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_call_room.c: the room for stubs is free, whatever the process has mapped: it is not said to
 * be where something lies, as what lies there could be taken away with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "offline/capture/call_area.h"
#include "user/values/calls/call_room.h"

enum { BYTES = 0x20000, N = 4 };

#define MB (1ull << 20)

static const struct tracee_map vsyscall = {.start = 0xffffffffff600000, .end = 0xffffffffff601000};

static void is_within_reach_and_free(void **state)
{
	const struct tracee_map maps[N] = {{.start = 0x7f0000000000, .end = 0x7f0000200000},
					   {.start = 0x7f0000210000, .end = 0x7f0000300000},
					   {.start = 0x7ffe00000000, .end = 0x7ffe00021000},
					   vsyscall};

	(void)state;
	assert_int_equal(call_room_near(maps, N, 0x7f0000000000, BYTES), 0x7f0000301000);
	assert_int_equal(call_room_near(maps, N, 0x7e0000000000, BYTES), 0);
}

/* Up to the next mapping, or the margin below it, there is none; below that margin's own size the
 * address of a mapping is less than the margin. */
static void is_not_where_something_lies(void **state)
{
	const struct tracee_map maps[N] = {{.start = 0x401000, .end = 0x47a000},
					   {.start = 0x480000, .end = 0x4a8000},
					   {.start = 0x4a8000, .end = 0x4ad000},
					   {.start = 1024 * MB, .end = 1025 * MB}};

	(void)state;
	for (int n = 1; n <= N; n++) {
		uint64_t at = call_room_near(maps, n, 0x401000, BYTES);

		for (int i = 0; i < n; i++)
			assert_true(at >= maps[i].end || at + BYTES <= maps[i].start);
	}
	assert_int_equal(call_room_near(maps, N, 0x401000, BYTES), 0x4ae000);
}

static void of_lanes_is_in_the_middle(void **state)
{
	const struct tracee_map maps[N] = {{.start = 0x400000, .end = 0x500000},
					   {.start = 0x10000000000, .end = 0x10000001000},
					   {.start = 0x7f0000000000, .end = 0x7f0000001000},
					   vsyscall};
	const uint64_t at = call_room_most(maps, N, 2048 * MB);

	(void)state;
	assert_int_equal(at % CALL_LANE_BYTES, 0);
	assert_true(at > 0x380000000000 && at < 0x480000000000);
	assert_int_equal(call_room_most(maps, 2, 512 * 1024 * MB), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_within_reach_and_free),
		cmocka_unit_test(is_not_where_something_lies),
		cmocka_unit_test(of_lanes_is_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
