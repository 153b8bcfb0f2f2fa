// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_call_notes.c: what a process has in its lanes is believed only as far as it can have come
 * there, and a lane of which something is never given back is closed before it is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offline/capture/call_area.h"
#include "user/values/write/call_notes.h"

enum { PAGE = 4096, LANE = 1, OWNER = 0x1000, LIMIT_S = 60 };
#define BYTES (PAGE + ((uint64_t)CALL_LANES << CALL_LANE_SHIFT))

static struct call_site site = {.number = 0};
static struct call_patches patches = {.n = 1, .sites = &site, .code_fd = -1};
static struct call_notes *notes;
static uint8_t *memory;
static struct call_lane *lane;

static int begin(void **state)
{
	(void)state;
	patches.lanes_fd = memfd_create("lanes", MFD_CLOEXEC);
	if (patches.lanes_fd < 0 || ftruncate(patches.lanes_fd, (off_t)BYTES))
		return -1;
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		      patches.lanes_fd, 0);
	notes = call_notes_open(&patches);
	lane = (struct call_lane *)(memory + PAGE + ((uint64_t)LANE << CALL_LANE_SHIFT));
	lane->owner = OWNER;
	call_notes_bind(notes, LANE, 1, 1);
	alarm(LIMIT_S); /* a look that has no end */
	return 0;
}

static int end(void **state)
{
	(void)state;
	call_notes_close(notes);
	munmap(memory, BYTES);
	close(patches.lanes_fd);
	return 0;
}

static struct call_note *note(uint32_t number)
{
	return (struct call_note *)((uint8_t *)lane + CALL_NOTES_OFF +
				    ((uint64_t)number << CALL_NOTE_SHIFT));
}

static void write_note(uint32_t number, uint64_t order)
{
	*note(number) = (struct call_note){
		.packed = (uint64_t)CALL_STUBS << 44, .entered = 1, .order = order, .state = 1};
}

static enum call_notes_next next(uint64_t until, int told, struct capture *c)
{
	struct capture_range range;
	uint64_t clocks;

	return call_notes_next(notes, LANE, until, told, c, &range, &clocks);
}

static void orders_that_nobody_has_are_not_believed(void **state)
{
	struct capture c;

	(void)state;
	write_note(0, CALL_ORDERS - 1);
	write_note(1, CALL_ORDERS);
	lane->head = 2;
	assert_int_equal(next(1, 0, &c), CALL_NOTES_RECORD);
	assert_true(c.order <= CAPTURE_NEVER);
	assert_int_equal(next(2, 0, &c), CALL_NOTES_LOST);
	lane->entered = CALL_ORDERS - 1;
	assert_int_not_equal(call_notes_entered(notes, LANE), 0);
	lane->entered = CALL_ORDERS;
	assert_int_equal(call_notes_entered(notes, LANE), 0);
}

static void a_head_that_is_far_away_ends_the_lane(void **state)
{
	struct capture c;

	(void)state;
	for (uint32_t i = 0; i < CALL_NOTES; i++)
		write_note(i, i);
	lane->head = (uint64_t)1 << 60;
	call_notes_look(notes, 1);
	assert_int_equal(next(call_notes_seen(notes, LANE), 0, &c), CALL_NOTES_LOST);
	assert_int_equal(call_notes_closed(notes), 1);
	assert_true(lane->owner & CALL_LANE_CLOSED);
}

static void a_lane_with_a_note_that_stays_is_closed_half_full(void **state)
{
	struct capture c;

	(void)state;
	lane->head = 1; /* not whole, and its thread does something else */
	assert_int_equal(next(1, 1, &c), CALL_NOTES_LOST);
	lane->head = CALL_NOTES / 2;
	call_notes_look(notes, 1);
	assert_int_equal(lane->tail, 0);
	assert_int_equal(call_notes_closed(notes), 0);
	lane->head++;
	call_notes_look(notes, 2);
	assert_int_equal(call_notes_closed(notes), 1);
	assert_true(CALL_NOTES / 2 < CALL_NOTES_FULL);
}

static void much_waits_where_notes_or_bytes_do(void **state)
{
	(void)state;
	lane->head = CALL_NOTES / 32;
	lane->bytes_head = CALL_BYTES / 32;
	assert_false(call_notes_much(notes, 32));
	lane->head++;
	assert_true(call_notes_much(notes, 32));
	assert_false(call_notes_much(notes, 5));
	lane->tail = lane->head;
	lane->bytes_head += 64;
	assert_true(call_notes_much(notes, 32));
	lane->bytes_head = lane->bytes_tail + CALL_BYTES / 5 + 1;
	assert_true(call_notes_much(notes, 5));
}

/* As behind a handler that was left by siglongjmp(). */
static void a_note_that_stays_is_nothing_that_comes_or_waits(void **state)
{
	struct capture c;

	(void)state;
	lane->head = 1;
	assert_int_equal(next(1, 1, &c), CALL_NOTES_LOST);
	for (uint64_t i = 1; i <= CALL_NOTES / 4; i++)
		write_note(i, i);
	lane->head += CALL_NOTES / 4;
	assert_true(call_notes_much(notes, 5));
	assert_true(call_notes_came(notes, 5));
	while (next(lane->head, 0, &c) == CALL_NOTES_RECORD)
		;
	call_notes_look(notes, 1);
	assert_int_equal(lane->tail, 0);
	assert_false(call_notes_much(notes, 5));
	assert_false(call_notes_came(notes, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(orders_that_nobody_has_are_not_believed, begin,
						end),
		cmocka_unit_test_setup_teardown(a_head_that_is_far_away_ends_the_lane, begin, end),
		cmocka_unit_test_setup_teardown(a_lane_with_a_note_that_stays_is_closed_half_full,
						begin, end),
		cmocka_unit_test_setup_teardown(a_note_that_stays_is_nothing_that_comes_or_waits,
						begin, end),
		cmocka_unit_test_setup_teardown(much_waits_where_notes_or_bytes_do, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
