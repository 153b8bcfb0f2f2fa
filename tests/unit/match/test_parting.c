// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_parting.c: two runs of other speeds, of which the second goes wrong in a round: what is
 * strange from when on, where the turns are, and who is suspected first (offline/match/parting.h,
 * suspects.h). */
#include "offline/match/suspects.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 4000, WRONG = 3000, OWN = 10, INSNS = 4 };
/* Counts once a round; goes wrong; does what the first run never does, for an optimiser's reasons;
 * is the error. */
enum { COUNTER, VICTIM, OTHERWISE, CULPRIT };

struct run {
	struct match_insn insns[INSNS];
	uint32_t functions[INSNS], pace, rounds;
	struct match_side side;
};

static void note(struct match_insn *m, uint32_t when, uint32_t what)
{
	m->what[m->n] = what;
	m->when[m->n++] = when;
}

/* @wrong: it has the error. */
static void make_run(struct run *run, uint32_t pace, uint32_t rounds, bool wrong)
{
	*run = (struct run){.pace = pace, .rounds = rounds};
	run->side = (struct match_side){run->insns, run->functions, INSNS};
	for (int i = 0; i < INSNS; i++) {
		run->insns[i].what = calloc(ROUNDS, sizeof(uint32_t));
		run->insns[i].when = calloc(ROUNDS, sizeof(uint32_t));
		assert_non_null(run->insns[i].what);
		assert_non_null(run->insns[i].when);
	}
	for (uint32_t r = 0; r < rounds; r++) {
		bool is = wrong && r >= WRONG;
		note(&run->insns[COUNTER], r * pace, 0x10000 + r);
		if (is)
			note(&run->insns[CULPRIT], r * pace + 1, 0x40000 + r);
		note(&run->insns[VICTIM], r * pace + 2, (is ? 0x20000 : 0x30000) + r / 2);
		if (wrong && r >= OWN)
			note(&run->insns[OTHERWISE], r * pace + 3, 0x50000 + r % 9);
	}
}

static void free_run(struct run *run)
{
	for (int i = 0; i < INSNS; i++) {
		free(run->insns[i].what);
		free(run->insns[i].when);
	}
}

static void part(struct match_parting *p, const struct run *a, const struct run *b)
{
	uint64_t executed[2] = {(uint64_t)a->pace * a->rounds, (uint64_t)b->pace * b->rounds};
	assert_int_equal(match_parting_init(p, &a->side, &b->side, executed), 0);
}

static void what_is_wrong_is_strange_from_then_on(void **state)
{
	struct run a, b;
	struct match_parting p;

	(void)state;
	make_run(&a, 12, ROUNDS, false);
	make_run(&b, 5, ROUNDS, true);
	part(&p, &a, &b);
	assert_int_equal(p.strange[COUNTER], UINT32_MAX);
	assert_int_equal(p.common[COUNTER], ROUNDS);
	assert_int_equal(p.strange[VICTIM], 5 * WRONG + 2);
	assert_int_equal(p.common[VICTIM], WRONG);
	assert_int_equal(p.common[OTHERWISE], 0);
	assert_int_equal(p.n_turns, 1); /* of what had the habit to do as the first run */
	assert_int_equal(p.turns[0].when, 5 * WRONG + 2);
	match_parting_deinit(&p);
	free_run(&a);
	free_run(&b);
}

static void what_a_turn_follows_soon_is_suspected_first(void **state)
{
	const uint32_t left[INSNS] = {UINT32_MAX, 5 * WRONG + 2, 5 * OWN + 3, 5 * WRONG + 1};
	struct match_suspect suspects[INSNS];
	struct run a, b;
	struct match_parting p;

	(void)state;
	make_run(&a, 12, ROUNDS, false);
	make_run(&b, 5, ROUNDS, true);
	/* What goes wrong is computed from the error. */
	b.insns[VICTIM].makers[0] = CULPRIT + 1;
	b.insns[VICTIM].n_makers = 1;
	part(&p, &a, &b);
	assert_int_equal(match_suspects(&b.side, &p, left, suspects), 3);
	assert_int_equal(suspects[0].insn, CULPRIT);
	assert_int_equal(suspects[1].insn, VICTIM);
	assert_int_equal(suspects[2].insn, OTHERWISE);
	match_parting_deinit(&p);
	free_run(&a);
	free_run(&b);
}

static void a_run_that_ends_early_turns_there(void **state)
{
	struct run a, b;
	struct match_parting p;

	(void)state;
	make_run(&a, 12, ROUNDS, false);
	make_run(&b, 5, ROUNDS / 4, false);
	part(&p, &a, &b);
	assert_int_equal(p.n_turns, 1);
	assert_true(p.turns[0].when >= 5 * (ROUNDS / 4 - 1));
	assert_true(p.turns[0].weight > 1);
	match_parting_deinit(&p);
	/* While both go on nobody knows what is left out. */
	const uint64_t unknown[2] = {0, 0};
	assert_int_equal(match_parting_init(&p, &a.side, &b.side, unknown), 0);
	assert_int_equal(p.n_turns, 0);
	match_parting_deinit(&p);
	free_run(&a);
	free_run(&b);
}

static void the_same_at_another_pace_has_no_turn(void **state)
{
	struct run a, b;
	struct match_parting p;

	(void)state;
	make_run(&a, 12, ROUNDS, false);
	make_run(&b, 5, ROUNDS, false);
	part(&p, &a, &b);
	assert_int_equal(p.n_turns, 0);
	for (int i = 0; i < INSNS; i++)
		assert_int_equal(p.strange[i], UINT32_MAX);
	match_parting_deinit(&p);
	/* Nor have two runs of which nothing is known. */
	a.side.n = b.side.n = 0;
	part(&p, &a, &b);
	assert_int_equal(p.n_turns, 0);
	match_parting_deinit(&p);
	free_run(&a);
	free_run(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_strange_from_then_on),
		cmocka_unit_test(what_a_turn_follows_soon_is_suspected_first),
		cmocka_unit_test(a_run_that_ends_early_turns_there),
		cmocka_unit_test(the_same_at_another_pace_has_no_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
