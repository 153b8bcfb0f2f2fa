// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_walks_real.c: claims that for the models of real programs, in modes casper and best, parsing
 * the witness log of a random run gives back exactly that run. What runs is the model, not the
 * program: every branch goes either way, every indirect call to any function whose address is
 * taken, foreign code calls back, throws, and is interrupted. And the plans that were walked over
 * pass the check of finished plans.
 *
 * WALKS=n walks n times in each mode of each program; WALK_FILES="a b" are walked over instead;
 * WALK_SEED=n and WALK_PRINT=1 are for the one that failed. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "offline/plan_build.h"
#include "offline/plan_check.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"

#define FILES                                                                                      \
	"/usr/bin/gzip /usr/bin/lua5.4 /usr/bin/redis-server /usr/bin/git "                        \
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0 /usr/bin/openssl /usr/bin/perl"
#define WALKS 3000
#define BLOCKS 400 /* in the longest walk */

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

struct tally {
	uint64_t walks, steps, events, gaps, handlers, untidy, ambiguous;
	/* Untidy: what foreign code left on the stack can be read in two ways, or what the frame of
	 * an earlier handler left, where signals are no events. */
	uint32_t failed, misread;
};

static void walk_once(const struct walk_ground *ground, uint64_t seed, struct tally *t)
{
	struct walk walk;
	struct walk_verdict verdict;
	uint64_t rng = seed;
	uint32_t func = ground->entered[random_below(&rng, ground->n_entered)];
	walk_over(ground, func, 20 + random_below(&rng, BLOCKS), seed, &walk);
	if (!walk_check_over(&walk, ground, &verdict)) {
		print_error("walk %" PRIu64 " from %s: %s\n", seed,
			    ground->plan->strings + ground->plan->funcs[func].name, verdict.text);
		if (walk.untidy || walk.n_acts > 2)
			t->misread++;
		else
			t->failed++;
		if (getenv("WALK_PRINT"))
			walk_print(&walk);
	}
	t->walks++;
	t->untidy += walk.untidy || walk.n_acts > 2;
	t->steps += walk.n_steps;
	t->events += walk.n_events;
	t->gaps += verdict.gaps;
	t->handlers += walk.n_handlers;
	t->ambiguous += verdict.ambiguous;
	walk_deinit(&walk);
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void walk_file(const char *path, enum plan_mode mode, struct tally *total)
{
	struct pugmark_model *model;
	struct pugmark_diag diag;
	struct program *prog;
	struct choice choice;
	struct pugmark_plan *plan;
	struct plan_check_counts counts;
	struct walk_ground ground;
	struct tally t = {0};
	uint32_t unresolved = 0;
	struct program_options options = {.costs = probe_costs_default};
	if (pugmark_model_open(path, &model, &diag))
		fail_msg("%s: %s", path, diag.text);
	assert_int_equal(program_from_model(model, &options, &prog), 0);
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	assert_true(!err || err == -EDOM);
	assert_int_equal(plan_build(prog, &choice, mode, model, &plan), 0);
	assert_int_equal(plan_check(plan, NULL, NULL, &counts), 0);
	walk_ground_init(&ground, prog, &choice, plan);
	double start = now_s();
	uint64_t only = setting("WALK_SEED", 0);
	if (only)
		walk_once(&ground, only, &t);
	for (uint64_t seed = 1; !only && seed <= setting("WALKS", WALKS) && t.failed < 5; seed++)
		walk_once(&ground, seed, &t);
	print_message("%s, %s: %" PRIu64 " walks, %" PRIu64 " steps, %" PRIu64 " events, %" PRIu64
		      " handlers, %" PRIu64 " gaps after throws, %" PRIu64
		      " with two readings; %u unresolved, %" PRIu64 " faults; %.2f s\n",
		      path, mode == MODE_BEST ? "best" : "casper", t.walks, t.steps, t.events,
		      t.handlers, t.gaps, t.ambiguous, unresolved, counts.faults, now_s() - start);
	if (!unresolved)
		assert_int_equal(counts.faults, 0);
	walk_ground_deinit(&ground);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
	pugmark_model_free(model);
	if (!unresolved) {
		total->walks += t.walks;
		total->untidy += t.untidy;
		total->failed += t.failed;
		total->misread += t.misread;
	}
}

static void walk_files(enum plan_mode mode)
{
	const char *wanted = getenv("WALK_FILES");
	char *files = strdup(wanted ? wanted : FILES), *save = NULL;
	struct tally total = {0};
	uint32_t n = 0;
	for (char *f = strtok_r(files, " ", &save); f; f = strtok_r(NULL, " ", &save)) {
		if (access(f, R_OK)) {
			print_message("%s is not on this machine\n", f);
			continue;
		}
		walk_file(f, mode, &total);
		n++;
	}
	free(files);
	if (!n)
		skip();
	print_message("%" PRIu64 " walks, %u of them not recovered; of %" PRIu64
		      " with untidy stacks %u are misread\n",
		      total.walks, total.failed, total.untidy, total.misread);
	assert_int_equal(total.failed, 0);
	/* Known to be open (docs/theory.md): where foreign code keeps an old return address in its
	 * frame, a callback may be taken to come out of the call that left it. */
	assert_true((uint64_t)total.misread * 500 <= total.untidy || total.misread <= 1);
}

static void casper_recovers_walks_over_real_programs(void **state)
{
	(void)state;
	walk_files(MODE_CASPER);
}

static void best_recovers_walks_over_real_programs(void **state)
{
	(void)state;
	walk_files(MODE_BEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(casper_recovers_walks_over_real_programs),
		cmocka_unit_test(best_recovers_walks_over_real_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
