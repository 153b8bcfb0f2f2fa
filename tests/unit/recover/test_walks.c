// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_walks.c: claims that for programs made at random, in every mode, parsing the witness log of
 * a random run gives back exactly that run; and where functions are out of scope, what the others
 * did, but for a few gaps, which are counted. The run is simulated by the walker, which knows the
 * program and the marks but not the grammar.
 *
 * WALK_PROGRAMS=n walks programs 1 to n, WALK_FROM=n begins elsewhere, WALK_SEED=n walks only
 * program n, and with WALK_PRINT=1 a walk that fails is printed. WALK_REGRESSIONS=n takes each nth
 * of those that failed once. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "offline/plan/plan_build.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"

#define WALKS_PER_PROGRAM 10
/* Where functions are out of scope, a trace may have a gap, though nothing that is wrong: for one,
 * what is entered from outside may jump to what is out of scope or end otherwise, and what it jumps
 * to may be entered from outside itself, in the same place; nothing tells these apart where it
 * calls back. */
#define SCOPED_WALKS_PER_GAP 1000
#define SCOPED_GAPS_BESIDE 10 /* they come together: several walks of one program */

struct tally {
	uint64_t programs, unresolved, walks, untidy, told, blind, untold, untold_blind;
	uint64_t steps, events, gaps, handlers, sites;
	uint64_t short_of; /* walks of a scope that are cut short by a gap */
	double cost_ns;
};

static bool walk_once(const struct walk_ground *ground, uint64_t seed, uint32_t limit,
		      struct tally *tally)
{
	struct walk walk;
	struct walk_verdict verdict;
	walk_over(ground, 0, limit, seed, &walk);
	bool same = walk_check_over(&walk, ground, &verdict);
	bool short_of = ground->scoped && verdict.gap;
	if (!same && (!short_of || getenv("WALK_SEED")))
		print_error("walk %" PRIu64 "%s%s%s: %s\n", seed, walk.untidy ? ", untidy" : "",
			    walk.unwound ? ", unwound" : "", walk.told ? "" : ", signals untold",
			    verdict.text);
	if (!same && getenv("WALK_PRINT"))
		walk_print(&walk);
	tally->walks++;
	tally->steps += walk.n_steps;
	tally->events += walk.n_events;
	tally->gaps += verdict.gaps;
	tally->handlers += walk.n_handlers;
	tally->untidy += walk.untidy;
	tally->told += walk.told;
	tally->untold += !walk.told && walk.n_handlers;
	tally->blind += verdict.blind && walk.told;
	tally->untold_blind += verdict.blind && !walk.told;
	tally->short_of += short_of;
	walk_deinit(&walk);
	return same || short_of;
}

static bool walk_one_program(uint64_t seed, enum plan_mode mode, bool scoped, struct tally *tally)
{
	struct program *prog = random_program(seed);
	struct program *whole = scoped ? random_scope(prog, seed) : NULL;
	struct walk_ground ground;
	struct choice choice;
	struct pugmark_plan *plan;
	uint32_t unresolved = 0;
	bool same = true;
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	assert_true(err == 0 || (err == -EDOM && unresolved));
	assert_int_equal(plan_build(prog, &choice, mode, NULL, &plan), 0);
	walk_ground_init(&ground, whole ? whole : prog, &choice, plan);
	tally->programs++;
	tally->unresolved += unresolved > 0;
	tally->sites += plan->n_sites;
	tally->cost_ns += plan->expected_cost_ns;
	for (uint32_t i = 0; i < WALKS_PER_PROGRAM && !unresolved && same; i++)
		same = walk_once(&ground, seed * 1000003 + i, 20 + 20 * i, tally);
	if (!same)
		print_error("of program %" PRIu64 "%s\n", seed, scoped ? ", scoped" : "");
	walk_ground_deinit(&ground);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	if (whole)
		random_scope_free(whole);
	program_free(prog);
	return same;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Programs that showed a fault of the conflict rule, of the parser, or of the walker once. */
static const uint64_t regressions[] = {
	5,	6,	15,	 46,	  54,	   81,	    87,	     99,      162,     235,
	245,	283,	295,	 326,	  372,	   398,	    500,     511,     648,     676,
	687,	789,	813,	 831,	  833,	   881,	    948,     1090,    1110,    1219,
	1396,	1491,	1601,	 1619,	  1690,	   1783,    1791,    2000,    2061,    2093,
	2463,	2513,	2701,	 3770,	  3863,	   4623,    4904,    5838,    6218,    7059,
	7330,	9378,	22346,	 25504,	  28852,   45787,   66402,   77858,   103292,  202690,
	217087, 247159, 3005579, 4003943, 4004220, 4007270, 5000581, 6002676, 6016326,
};
#define N_REGRESSIONS (sizeof(regressions) / sizeof(*regressions))

static void walk_many(enum plan_mode mode, bool scoped, uint64_t programs)
{
	struct tally t = {0};
	uint64_t only = setting("WALK_SEED", 0), from = setting("WALK_FROM", 1);
	uint64_t every = setting("WALK_REGRESSIONS", 1);
	int failed = 0;
	programs = setting("WALK_PROGRAMS", programs);
	if (only)
		failed = !walk_one_program(only, mode, scoped, &t);
	for (uint64_t i = 0; !only && i < N_REGRESSIONS && failed < 5; i += every ? every : 1)
		failed += !walk_one_program(regressions[i], mode, scoped, &t);
	for (uint64_t seed = from; !only && seed < from + programs && failed < 5; seed++)
		failed += !walk_one_program(seed, mode, scoped, &t);
	print_message("%" PRIu64 " programs (%" PRIu64 " with a block that nothing can witness), "
		      "%" PRIu64 " sites, cost %.4g; %" PRIu64 " walks, %" PRIu64 " steps, %" PRIu64
		      " events, %" PRIu64 " handlers, %" PRIu64 " gaps after throws; %" PRIu64
		      " walks with untidy stacks; %" PRIu64 " of %" PRIu64
		      " cut short by a gap at a signal, where it is no event %" PRIu64
		      " of %" PRIu64 "\n",
		      t.programs, t.unresolved, t.sites, t.cost_ns, t.walks, t.steps, t.events,
		      t.handlers, t.gaps, t.untidy, t.blind, t.told, t.untold_blind, t.untold);
	if (scoped)
		print_message("short of it: %" PRIu64 " of %" PRIu64
			      " walks of a scope have a gap where there should be none\n",
			      t.short_of, t.walks);
	assert_int_equal(failed, 0);
	assert_true(only || t.short_of <= t.walks / SCOPED_WALKS_PER_GAP + SCOPED_GAPS_BESIDE);
	assert_true(only || t.unresolved * 8 < t.programs);
	assert_true(t.blind * 1000 <= t.told);
	assert_true(t.untold_blind * 2 <= t.untold || t.untold < 100);
}

static void full_recovers_every_walk(void **state)
{
	(void)state;
	walk_many(MODE_FULL, false, 3000);
}

static void branch_recovers_every_walk(void **state)
{
	(void)state;
	walk_many(MODE_BRANCH, false, 3000);
}

static void casper_recovers_every_walk(void **state)
{
	(void)state;
	walk_many(MODE_CASPER, false, 15000);
}

static void best_recovers_every_walk(void **state)
{
	(void)state;
	walk_many(MODE_BEST, false, 15000);
}

static void casper_misreads_no_walk_of_a_scope(void **state)
{
	(void)state;
	walk_many(MODE_CASPER, true, 800);
}

static void best_misreads_no_walk_of_a_scope(void **state)
{
	(void)state;
	walk_many(MODE_BEST, true, 800);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_recovers_every_walk),
		cmocka_unit_test(branch_recovers_every_walk),
		cmocka_unit_test(casper_recovers_every_walk),
		cmocka_unit_test(best_recovers_every_walk),
		cmocka_unit_test(casper_misreads_no_walk_of_a_scope),
		cmocka_unit_test(best_misreads_no_walk_of_a_scope),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
