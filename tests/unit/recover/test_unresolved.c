// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_unresolved.c: claims about plans with places where nothing can be probed that tells what
 * happens, of random programs in every mode: the plan names each such place, so that its check
 * finds no fault that it does not own up to; and what is recovered of a walk is the walk, up to the
 * first gap: a gap may be there, a wrong trace never. UNRESOLVED_PROGRAMS=n looks at n programs
 * from UNRESOLVED_FROM (1) on. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/plan/plan_build.h"
#include "offline/prove/plan_check.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"

/* Of the walks 88 in a hundred are recovered whole: where a gap could be said just as well, the
 * trace is to be there. */
enum { WALKS = 20, EXACT_PERCENT = 87 };

struct tally {
	uint32_t plans, places[PUGMARK_UNRESOLVED_KINDS], unowned, misnamed, walks, exact, cut,
		wrong;
};

static void walk_plan(const struct program *prog, const struct choice *choice,
		      const struct pugmark_plan *plan, uint64_t seed, struct tally *t)
{
	for (uint32_t i = 0; i < WALKS; i++) {
		struct walk walk;
		struct walk_verdict verdict;
		walk_program(prog, choice, plan, 0, 20 + 20 * i, seed * 1000003 + i, &walk);
		walk.unresolved = true;
		bool same = walk_check(&walk, plan, &verdict);
		t->walks++;
		t->cut += same && verdict.unresolved;
		t->exact += same && !verdict.unresolved;
		t->wrong += !same;
		if (!same && t->wrong < 6)
			print_error("program %" PRIu64 ", walk %u: %s\n", seed, i, verdict.text);
		for (uint32_t k = 0; !same && k < plan->unresolved && t->wrong < 6; k++)
			print_error("  unresolved: %" PRIx64 " kind %u\n",
				    plan->unresolved_at[k].addr, plan->unresolved_at[k].kind);
		walk_deinit(&walk);
	}
}

/* Whether the check finds a fault where the plan names other ways out of the same functions than
 * those that nothing tells. */
static bool is_misnamed(const struct pugmark_plan *plan)
{
	struct pugmark_plan other = *plan;
	struct pugmark_plan_unresolved *at = calloc(plan->unresolved, sizeof(*at));
	struct plan_check_counts counts;
	assert_non_null(at);
	for (uint32_t i = 0; i < plan->unresolved; i++) {
		const struct pugmark_plan_func *f = &plan->funcs[plan->unresolved_at[i].func];
		at[i] = plan->unresolved_at[i];
		if (at[i].kind == PUGMARK_UNRESOLVED_WAY && f->n_nodes)
			at[i].node = at[i].node == PUGMARK_NONE
					     ? f->node
					     : f->node + (at[i].node - f->node + 1) % f->n_nodes;
	}
	other.unresolved_at = at;
	assert_int_equal(plan_check(&other, NULL, NULL, &counts), 0);
	free(at);
	return counts.faults > 0;
}

static void look_at(uint64_t seed, enum plan_mode mode, struct tally *t)
{
	struct program *prog = random_program(seed);
	struct choice choice;
	struct pugmark_plan *plan;
	struct plan_check_counts counts;
	uint32_t unresolved = 0;
	random_forbid_probes(prog, seed);
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	assert_true(!err || (err == -EDOM && unresolved));
	assert_int_equal(plan_build(prog, &choice, mode, NULL, &plan), 0);
	assert_int_equal(plan->unresolved, unresolved);
	assert_int_equal(plan_check(plan, NULL, NULL, &counts), 0);
	t->unowned += counts.faults > 0;
	if (unresolved) {
		t->plans++;
		t->misnamed += is_misnamed(plan);
		for (uint32_t i = 0; i < plan->unresolved; i++)
			t->places[plan->unresolved_at[i].kind]++;
		walk_plan(prog, &choice, plan, seed, t);
	}
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
}

/* Programs of which walks came out wrong once, or whose plans had faults that they did not name. */
static const uint64_t regressions[] = {
	1068,  1509,  1865,  2263,  3533,    5046,    5448,    7102,	8324,	 9130,	  9790,
	21855, 27992, 29054, 29159, 6000010, 6001590, 6004400, 6008881, 6014536, 6016868, 6023241,
};

static void nothing_wrong_is_recovered(enum plan_mode mode)
{
	const char *text = getenv("UNRESOLVED_PROGRAMS");
	uint64_t programs = text ? strtoull(text, NULL, 0) : 1000;
	struct tally t = {0}, again = {0};
	uint64_t from =
		getenv("UNRESOLVED_FROM") ? strtoull(getenv("UNRESOLVED_FROM"), NULL, 0) : 1;
	for (size_t i = 0; !text && i < sizeof(regressions) / sizeof(*regressions); i++)
		look_at(regressions[i], mode, &again);
	for (uint64_t seed = from; seed < from + programs; seed++)
		look_at(seed, mode, &t);
	print_message("%u plans with unresolved places (entry %u, landing %u, jump %u, stop %u, "
		      "frame %u, way %u, rounds %u, end %u), %u with faults beside, %u if they "
		      "named other ways; %u walks, "
		      "%u recovered whole, %u up to a gap, %u wrong\n",
		      t.plans, t.places[PUGMARK_UNRESOLVED_ENTRY],
		      t.places[PUGMARK_UNRESOLVED_LANDING], t.places[PUGMARK_UNRESOLVED_JUMP],
		      t.places[PUGMARK_UNRESOLVED_STOP], t.places[PUGMARK_UNRESOLVED_FRAME],
		      t.places[PUGMARK_UNRESOLVED_WAY], t.places[PUGMARK_UNRESOLVED_ROUNDS],
		      t.places[PUGMARK_UNRESOLVED_END], t.unowned, t.misnamed, t.walks, t.exact,
		      t.cut, t.wrong);
	if (t.unowned || t.wrong)
		print_message("  SHORT: %u plans and %u walks, where none is asked for\n",
			      t.unowned, t.wrong);
	assert_int_equal(t.wrong + again.wrong, 0);
	/* How many can be told differs from range to range. */
	assert_true(text || (t.cut > 0 && t.exact * 100 >= t.walks * EXACT_PERCENT));
	assert_int_equal(t.unowned + again.unowned, 0);
	/* It is that very place which the plan must name, not its function. */
	assert_true(text || !t.places[PUGMARK_UNRESOLVED_WAY] || t.misnamed > 0);
}

static void of_mode_full(void **state)
{
	(void)state;
	nothing_wrong_is_recovered(MODE_FULL);
}

static void of_mode_casper(void **state)
{
	(void)state;
	nothing_wrong_is_recovered(MODE_CASPER);
}

static void of_mode_best(void **state)
{
	(void)state;
	nothing_wrong_is_recovered(MODE_BEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_mode_full),
		cmocka_unit_test(of_mode_casper),
		cmocka_unit_test(of_mode_best),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
