// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_match.c: instructions that do the same at another time are no match (offline/match/pace.h).
 */
#include "offline/match/match.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 4000, LOOP = 50, INSNS = 3 };

static void note(struct match_insn *m, uint32_t when, uint32_t what)
{
	m->what[m->n] = what;
	m->when[m->n++] = when;
}

/* Two loops with the same values, at a third and at two thirds of a run, beside one instruction
 * that has another value each time: numbers 0, 1 and 2. Each round takes @pace instructions. */
static void make_run(struct match_insn insns[INSNS], uint32_t pace)
{
	memset(insns, 0, INSNS * sizeof(*insns));
	for (int i = 0; i < INSNS; i++) {
		insns[i].ip = 0x1000 + 4 * i;
		insns[i].kind = MATCH_RESULT;
		insns[i].what = calloc(ROUNDS, sizeof(uint32_t));
		insns[i].when = calloc(ROUNDS, sizeof(uint32_t));
		assert_non_null(insns[i].what);
		assert_non_null(insns[i].when);
	}
	for (uint32_t r = 0; r < ROUNDS; r++) {
		note(&insns[2], r * pace, 0x10000 + r);
		for (int loop = 0; loop < 2; loop++)
			if (r >= (loop + 1u) * ROUNDS / 3 && r < (loop + 1u) * ROUNDS / 3 + LOOP)
				note(&insns[loop], r * pace + 1,
				     7 * (r - (loop + 1u) * ROUNDS / 3));
	}
}

static void free_run(struct match_insn insns[INSNS])
{
	for (int i = 0; i < INSNS; i++) {
		free(insns[i].what);
		free(insns[i].when);
	}
}

/* What becomes of the second program's instructions, which has the loops in the other order in its
 * code. @one: the first program has but one loop. */
static struct match_found *compare(bool one)
{
	struct match_insn a[INSNS], b[INSNS];
	uint32_t functions[INSNS] = {0};
	struct match_found *found;

	make_run(a, 12);
	make_run(b, 5);
	struct match_insn other = b[0];
	b[0] = b[1];
	b[1] = other;
	if (one)
		a[1].n = 0;
	struct match_side first = {a, functions, INSNS}, second = {b, functions, INSNS};
	assert_int_equal(match_find(&first, &second, &found), 0);
	free_run(a);
	free_run(b);
	return found;
}

static void loops_are_told_apart_by_when(void **state)
{
	struct match_found *found = compare(false);

	(void)state;
	assert_true(found[2].matched);
	assert_int_equal(found[2].partner, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(found[i].matched);
		assert_int_equal(found[i].partner, 1 - i);
	}
	free(found);
}

/* What is done at a time at which the other program does something else is not matched. */
static void another_time_is_no_match(void **state)
{
	struct match_found *found = compare(true);

	(void)state;
	assert_true(found[1].matched);
	assert_false(found[0].matched);
	free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_told_apart_by_when),
		cmocka_unit_test(another_time_is_no_match),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
