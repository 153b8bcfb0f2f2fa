// SPDX-License-Identifier: LGPL-2.1-or-later
/* Why results are not exact: which instruction has read what nobody has told, a register or memory,
 * and which ones only follow. What is not known decides nothing. */
#include "offline/eval/machine.h"
#include "tests/support/small_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CODE ((uint64_t)0x400000)
#define DATA ((uint64_t)0x500000)

static struct value_machine *begin(struct value_memory *memory, const uint8_t *code, size_t n)
{
	struct value_machine *m = small_machine(memory, CODE, VALUE_PAGE, DATA, false);
	assert_non_null(m);
	assert_int_equal(value_memory_write(memory, CODE, code, n, VALUE_EXACT), 0);
	value_machine_state(m)->rip = CODE;
	return m;
}

/* mov [rbx], r8; mov rax, [rbx]; mov [rbx+8], rax; mov r8, 5; mov [rbx+16], r8; mov rcx, [rbx+24]
 */
static const uint8_t code[] = {0x4c, 0x89, 0x03, 0x48, 0x8b, 0x03, 0x48, 0x89, 0x43,
			       0x08, 0x49, 0xc7, 0xc0, 0x05, 0x00, 0x00, 0x00, 0x4c,
			       0x89, 0x43, 0x10, 0x48, 0x8b, 0x4b, 0x18};

static void says_where_it_came_from(void **state)
{
	(void)state;
	struct value_memory memory;
	struct value_machine *m = begin(&memory, code, sizeof(code));
	struct value_inexact most[4];
	value_set_gpr(m, VALUE_RBX, DATA, VALUE_EXACT);
	assert_int_equal(value_memory_set_quality(&memory, DATA + 24, 8, VALUE_ASSUMED), 0);
	for (uint64_t turn = 1; turn <= 3; turn++) {
		value_forget(m, (uint64_t)1 << 8, VALUE_UNKNOWN);
		value_machine_state(m)->rip = CODE;
		assert_int_equal(value_machine_run(m, 6 * turn, NULL), VALUE_STOP_LIMIT);
	}
	/* The store of r8; what was loaded from there; and what that register was stored to
	 * follows. */
	const struct value_inexacts *all = value_machine_inexacts(m);
	assert_int_equal(value_inexacts_most(all, VALUE_UNKNOWN, most, 4), 2);
	assert_int_equal(most[0].ip, CODE);
	assert_int_equal(most[0].n, 3);
	assert_int_equal(most[0].reason, VALUE_OF_FORGOTTEN);
	assert_int_equal(most[0].reg, 8);
	assert_int_equal(most[1].ip, CODE + 3);
	assert_int_equal(most[1].reason, VALUE_OF_MEMORY);
	assert_int_equal(value_inexacts_most(all, VALUE_UNKNOWN, most, 1), 1);
	assert_int_equal(most[0].ip, CODE);
	assert_int_equal(value_inexacts_most(all, VALUE_ASSUMED, most, 4), 1);
	assert_int_equal(most[0].ip, CODE + 21);
	assert_int_equal(most[0].n, 3);
	uint64_t assumed, unknown;
	value_machine_inexact(m, &assumed, &unknown);
	assert_int_equal(assumed, 3);
	assert_int_equal(unknown, 9); /* with those that follow */
	value_machine_free(m);
	value_memory_deinit(&memory);
}

static void those_of_many_places_come_first_that_ran_most(void **state)
{
	(void)state;
	struct value_inexacts t = {0};
	struct value_inexact most[3];
	for (uint64_t i = 1; i <= 1000; i++)
		for (uint64_t k = 0; k < i % 7; k++)
			value_inexacts_add(&t, &(struct value_inexact){.ip = i,
								       .quality = VALUE_UNKNOWN,
								       .reason = VALUE_OF_MEMORY});
	for (int k = 0; k < 9; k++)
		value_inexacts_add(&t, &(struct value_inexact){.ip = 500,
							       .quality = VALUE_UNKNOWN,
							       .reason = VALUE_OF_COMPUTED});
	assert_int_equal(value_inexacts_most(&t, VALUE_UNKNOWN, most, 3), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(most[i].n, 6);
		assert_int_equal(most[i].ip, 6 + 7 * i);
	}
	assert_int_equal(value_inexacts_most(&t, VALUE_ASSUMED, most, 3), 0);
	value_inexacts_free(&t);
}

/* wrfsbase rcx; wrgsbase ecx; nop: as well as a jump, which all that follows hangs on. */
static void a_segment_goes_to_no_base_that_is_not_known(void **state)
{
	static const uint8_t writes[2][6] = {{0xf3, 0x48, 0x0f, 0xae, 0xd1, 0x90},
					     {0xf3, 0x0f, 0xae, 0xd9, 0x90, 0x90}};
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct value_memory memory;
		struct value_machine *m = begin(&memory, writes[i], sizeof(writes[i]));
		const uint64_t *base = &value_machine_state(m)->gpr[i ? VALUE_GS : VALUE_FS];
		value_set_gpr(m, VALUE_RCX, DATA, VALUE_UNKNOWN);
		assert_int_equal(value_machine_run(m, 2, NULL), VALUE_STOP_UNKNOWN_BRANCH);
		assert_int_equal(*base, 0);
		value_set_gpr(m, VALUE_RCX, DATA, VALUE_ASSUMED);
		assert_false(value_machine_supposed(m));
		assert_int_equal(value_machine_run(m, 2, NULL), VALUE_STOP_LIMIT);
		assert_true(value_machine_supposed(m));
		assert_int_equal(*base, DATA);
		value_machine_state(m)->rip = CODE;
		value_set_gpr(m, VALUE_RCX, DATA + 8, VALUE_EXACT);
		assert_int_equal(value_machine_run(m, 4, NULL), VALUE_STOP_LIMIT);
		assert_false(value_machine_supposed(m));
		assert_int_equal(*base, DATA + 8);
		value_machine_free(m);
		value_memory_deinit(&memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_where_it_came_from),
		cmocka_unit_test(a_segment_goes_to_no_base_that_is_not_known),
		cmocka_unit_test(those_of_many_places_come_first_that_ran_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
