// SPDX-License-Identifier: LGPL-2.1-or-later
/* Where a run stops: at its owner's places always; where something is expected by its registers,
 * that time alone; and where nothing is expected any more, not at all. */
#include "offline/eval/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CODE ((uint64_t)0x400000)
#define AMID (CODE + 3)

/* CODE: inc rax; AMID: inc rbx; jmp CODE */
static const uint8_t loop[] = {0x48, 0xff, 0xc0, 0x48, 0xff, 0xc3, 0xeb, 0xf8};

static struct value_memory memory;

static int begin(void **state)
{
	struct value_region text = {.start = CODE, .end = CODE + VALUE_PAGE, .prot = 5};
	assert_int_equal(value_memory_init(&memory, NULL, NULL), 0);
	assert_int_equal(value_memory_map(&memory, &text), 0);
	assert_int_equal(value_memory_write(&memory, CODE, loop, sizeof(loop), VALUE_EXACT), 0);
	struct value_machine *m = value_machine_new(&memory);
	assert_non_null(m);
	assert_int_equal(value_machine_code(m, CODE, CODE + VALUE_PAGE), 0);
	value_machine_state(m)->rip = CODE;
	value_set_gpr(m, VALUE_RAX, 0, VALUE_EXACT);
	value_set_gpr(m, VALUE_RBX, 0, VALUE_EXACT);
	*state = m;
	return 0;
}

static int end(void **state)
{
	value_machine_free(*state);
	value_memory_deinit(&memory);
	return 0;
}

static void expect(struct value_machine *m, uint64_t addr, uint64_t rax)
{
	const uint64_t regs[16] = {[VALUE_RAX] = rax};
	assert_int_equal(value_machine_expect(m, addr, regs, 1 << VALUE_RAX), 0);
}

static void expect_nothing(struct value_machine *m)
{
	assert_int_equal(value_machine_expect(m, 0, NULL, 0), 0);
}

static void stops_where_registers_are_as_expected(void **state)
{
	struct value_machine *m = *state;
	for (uint64_t turn = 5; turn < 500; turn += 7) {
		expect(m, AMID, turn);
		assert_int_equal(value_machine_run(m, 10000, NULL), VALUE_STOP_PLACE);
		assert_int_equal(value_machine_state(m)->rip, AMID);
		assert_int_equal(value_machine_state(m)->gpr[VALUE_RAX], turn);
		assert_int_equal(value_machine_state(m)->gpr[VALUE_RBX], turn - 1);
	}
}

static void does_not_stop_where_nothing_is_expected_any_more(void **state)
{
	struct value_machine *m = *state;
	expect(m, AMID, 5);
	expect_nothing(m);
	assert_int_equal(value_machine_run(m, 300, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_machine_count(m), 300);
	expect(m, AMID, 105);
	expect_nothing(m);
	expect(m, AMID, 105);
	assert_int_equal(value_machine_run(m, 1000, NULL), VALUE_STOP_PLACE);
	assert_int_equal(value_machine_state(m)->gpr[VALUE_RAX], 105);
}

static void ends_at_its_limit_where_another_time_is_expected(void **state)
{
	struct value_machine *m = *state;
	expect(m, AMID, 50);
	assert_int_equal(value_machine_run(m, 1, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_machine_count(m), 1);
	expect_nothing(m);
	assert_int_equal(value_machine_run(m, 4, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_machine_count(m), 4);
	assert_int_equal(value_machine_state(m)->rip, AMID);
}

static void an_owners_place_stays_one(void **state)
{
	struct value_machine *m = *state;
	expect(m, AMID, 50);
	assert_int_equal(value_machine_place(m, AMID), 0);
	expect(m, CODE, 1000);
	expect_nothing(m);
	for (uint64_t turn = 1; turn < 9; turn++) {
		assert_int_equal(value_machine_run(m, 1000, NULL), VALUE_STOP_PLACE);
		assert_int_equal(value_machine_state(m)->rip, AMID);
		assert_int_equal(value_machine_state(m)->gpr[VALUE_RAX], turn);
	}
}

static void want(struct value_machine *m, uint64_t addr)
{
	const uint64_t wanted[VALUE_WANTED] = {[VALUE_WANTED - 1] = addr};
	value_machine_want(m, wanted);
}

/* AMID, next, and then once more. */
static void stops_amid(struct value_machine *m, uint64_t turn)
{
	assert_int_equal(value_machine_run(m, value_machine_count(m) + 10, NULL), VALUE_STOP_PLACE);
	assert_int_equal(value_machine_state(m)->rip, AMID);
	assert_int_equal(value_machine_state(m)->gpr[VALUE_RAX], turn);
}

static void passes(struct value_machine *m, uint64_t insns)
{
	uint64_t until = value_machine_count(m) + insns;
	assert_int_equal(value_machine_run(m, until, NULL), VALUE_STOP_LIMIT);
	assert_int_equal(value_machine_count(m), until);
}

static void stops_at_a_seldom_place_while_it_is_wanted(void **state)
{
	struct value_machine *m = *state;
	passes(m, 3); /* translated without */
	assert_int_equal(value_machine_seldom(m, AMID), 0);
	for (uint64_t turn = 1; turn < 200; turn += 101) {
		passes(m, 297);
		want(m, AMID);
		stops_amid(m, turn + 100);
		want(m, CODE + 100);
		passes(m, 6); /* from there on, and by it */
	}
}

static void stops_at_a_seldom_place_while_it_is_expected(void **state)
{
	struct value_machine *m = *state;
	assert_int_equal(value_machine_seldom(m, AMID), 0);
	passes(m, 300);
	expect(m, AMID, 101);
	stops_amid(m, 101);
	expect_nothing(m);
	passes(m, 302);
}

static void a_seldom_place_becomes_one_and_a_place_stays_one(void **state)
{
	struct value_machine *m = *state;
	assert_int_equal(value_machine_seldom(m, AMID), 0);
	passes(m, 300);
	assert_int_equal(value_machine_place(m, AMID), 0);
	assert_int_equal(value_machine_seldom(m, AMID), 0);
	for (uint64_t turn = 101; turn < 109; turn++)
		stops_amid(m, turn);
}

/* A step of one instruction meets it as well: rbx is not exact, so each is executed alone. */
static void a_seldom_place_is_met_step_by_step(void **state)
{
	struct value_machine *m = *state;
	value_set_gpr(m, VALUE_RBX, 0, VALUE_ASSUMED);
	assert_int_equal(value_machine_seldom(m, AMID), 0);
	passes(m, 30);
	want(m, AMID);
	for (uint64_t turn = 11; turn < 15; turn++)
		stops_amid(m, turn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stops_where_registers_are_as_expected, begin, end),
		cmocka_unit_test_setup_teardown(does_not_stop_where_nothing_is_expected_any_more,
						begin, end),
		cmocka_unit_test_setup_teardown(ends_at_its_limit_where_another_time_is_expected,
						begin, end),
		cmocka_unit_test_setup_teardown(an_owners_place_stays_one, begin, end),
		cmocka_unit_test_setup_teardown(stops_at_a_seldom_place_while_it_is_wanted, begin,
						end),
		cmocka_unit_test_setup_teardown(stops_at_a_seldom_place_while_it_is_expected, begin,
						end),
		cmocka_unit_test_setup_teardown(a_seldom_place_becomes_one_and_a_place_stays_one,
						begin, end),
		cmocka_unit_test_setup_teardown(a_seldom_place_is_met_step_by_step, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
