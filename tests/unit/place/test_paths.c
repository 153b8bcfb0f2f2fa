// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_paths.c: claims that for programs made at random, whatever the placement of witnesses,
 * parsing the witness log of a random run gives back every block, call and return of that run;
 * where only some functions' blocks are asked for, exactly those. */
#include <errno.h>
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

struct tally {
	uint64_t programs, unresolved, walks, steps, events;
};

static int walk_one_program(uint64_t seed, enum plan_mode mode, uint32_t share, uint32_t walks,
			    struct tally *tally)
{
	struct program *prog = random_program(seed);
	struct choice choice;
	struct pugmark_plan *plan;
	uint32_t unresolved = 0;
	uint64_t rng = seed;
	int failed = 0;
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		if (random_chance(&rng, share))
			prog->funcs[f].flags |= PROG_PATHS;
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	assert_true(err == 0 || (err == -EDOM && unresolved));
	tally->programs++;
	tally->unresolved += unresolved > 0;
	assert_int_equal(plan_build(prog, &choice, mode, NULL, &plan), 0);
	for (uint32_t i = 0; i < walks && !unresolved && !failed; i++) {
		struct walk walk;
		uint64_t walk_seed = seed * 1000003 + i;
		walk_program(prog, &choice, plan, 0, 20 + 20 * (i % 10), walk_seed, &walk);
		struct walk_verdict verdict;
		if (!walk_check(&walk, plan, &verdict)) {
			print_error("program %llu, mode %d, walk %llu: %s\n",
				    (unsigned long long)seed, mode, (unsigned long long)walk_seed,
				    verdict.text);
			if (getenv("WALK_PRINT"))
				walk_print(&walk);
			failed = 1;
		}
		tally->walks++;
		tally->steps += walk.n_steps;
		tally->events += walk.n_events;
		walk_deinit(&walk);
	}
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
	return failed;
}

static void walk_many(enum plan_mode mode, uint32_t share, uint64_t programs, uint32_t walks)
{
	struct tally tally = {0};
	const char *only = getenv("WALK_SEED");
	const char *count = getenv("WALK_PROGRAMS");
	int failed = 0;
	if (count)
		programs = strtoull(count, NULL, 0);
	if (only)
		failed = walk_one_program(strtoull(only, NULL, 0), mode, share, walks, &tally);
	else
		for (uint64_t seed = 1; seed <= programs && failed < 5; seed++)
			failed += walk_one_program(seed, mode, share, walks, &tally);
	print_message("%llu programs (%llu with a decision that nothing can witness), %llu walks, "
		      "%llu steps, %llu events\n",
		      (unsigned long long)tally.programs, (unsigned long long)tally.unresolved,
		      (unsigned long long)tally.walks, (unsigned long long)tally.steps,
		      (unsigned long long)tally.events);
	assert_int_equal(failed, 0);
	assert_true(tally.unresolved * 3 < tally.programs || tally.programs < 10);
}

static void best_recovers_every_block(void **state)
{
	(void)state;
	walk_many(MODE_PATHS_BEST, 100, 10000, 10);
}

static void nodes_recover_every_block(void **state)
{
	(void)state;
	walk_many(MODE_PATHS_NODES, 100, 5000, 10);
}

static void edges_recover_every_block(void **state)
{
	(void)state;
	walk_many(MODE_PATHS_EDGES, 100, 5000, 10);
}

static void targets_recover_every_block(void **state)
{
	(void)state;
	walk_many(MODE_PATHS_TARGETS, 100, 3000, 10);
}

static void blocks_recover_every_block(void **state)
{
	(void)state;
	walk_many(MODE_PATHS_BLOCKS, 100, 3000, 10);
}

static void some_functions_show_blocks(void **state)
{
	(void)state;
	walk_many(MODE_PATHS_BEST, 40, 5000, 10);
	walk_many(MODE_PATHS_NODES, 40, 3000, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_recovers_every_block),
		cmocka_unit_test(nodes_recover_every_block),
		cmocka_unit_test(edges_recover_every_block),
		cmocka_unit_test(targets_recover_every_block),
		cmocka_unit_test(blocks_recover_every_block),
		cmocka_unit_test(some_functions_show_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
