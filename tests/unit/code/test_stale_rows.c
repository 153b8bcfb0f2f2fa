// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_stale_rows.c: heights of the stack where call frame information is not of the place that it
 * stands at (stale_rows.c): of one that is late they are right, and absurd ones add up to nothing
 * that no number holds, which the sanitizers see. */
#include "tests/unit/code/model_helper.h"

static uint64_t addr_of(const struct pugmark_model *m, const char *name)
{
	uint32_t func = pugmark_model_func_named(m, name);
	if (func == PUGMARK_NONE)
		fail_msg("no function %s", name);
	return m->funcs[func].addr;
}

static int32_t height_at(const struct pugmark_model *m, uint64_t addr)
{
	struct pugmark_cfa cfa = pugmark_model_cfa_at(m, addr);
	assert_int_equal(cfa.reg, PUGMARK_CFA_SP);
	return cfa.offset;
}

/* late: sub, add (4 bytes each), cmp (3), je (2), ret. */
static void behind_an_addition_the_height_is_what_is_left(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("cc", "", "late.S");
	uint64_t late = addr_of(m, "late");
	assert_int_equal(height_at(m, late), 8);
	assert_int_equal(height_at(m, late + 4), 32);
	assert_int_equal(height_at(m, late + 8), 8);
	assert_int_equal(height_at(m, late + 11), 8);
	assert_int_equal(height_at(m, late + 13), 8);
	check_model(m);
	pugmark_model_free(m);
}

/* absurd: test, jne. What is as large as no stack is, is not known. */
static void heights_that_no_stack_has_are_not_known(void **state)
{
	(void)state;
	struct pugmark_model *m = compiled("cc", "", "late.S");
	assert_int_equal(pugmark_model_cfa_at(m, addr_of(m, "absurd")).reg, PUGMARK_CFA_UNKNOWN);
	pugmark_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_an_addition_the_height_is_what_is_left),
		cmocka_unit_test(heights_that_no_stack_has_are_not_known),
	};
	return cmocka_run_group_tests_name("rows that are stale", tests, NULL, NULL);
}
