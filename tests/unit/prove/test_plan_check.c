// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_plan_check.c: claims about the check of finished plans. It accepts every plan that is made
 * for a random program, in every mode, however many calls an event tells apart; and where a probe
 * is taken away or reads less than it did, it either says so or the plan is still good, as random
 * walks show. */
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

#include "offline/plan/plan_build.h"
#include "offline/prove/plan_check.h"
#include "tests/support/hand_program.h"
#include "tests/support/random_program.h"
#include "tests/support/walker.h"

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void print_fault(void *ctx, const struct plan_fault *f)
{
	const struct pugmark_plan *plan = ctx;
	print_error("  fault %d func %u node %x other %x site %x %s\n", f->kind, f->func,
		    f->node < plan->n_nodes ? (unsigned)plan->nodes[f->node].addr : f->node,
		    f->other < plan->n_nodes ? (unsigned)plan->nodes[f->other].addr : f->other,
		    f->site < plan->n_sites ? (unsigned)plan->sites[f->site].addr : f->site,
		    f->text ? f->text : "");
}

static uint64_t faults_of(const struct pugmark_plan *plan, bool print)
{
	struct plan_check_counts counts;
	assert_int_equal(plan_check(plan, print ? print_fault : NULL, (void *)plan, &counts), 0);
	return counts.faults;
}

static void every_plan_is_accepted(enum plan_mode mode)
{
	uint64_t programs = setting("CHECK_PROGRAMS", 3000), from = setting("CHECK_FROM", 1);
	uint32_t failed = 0, resolved = 0, missed = 0;
	for (uint64_t seed = from; seed < from + programs && failed < 5; seed++) {
		struct program *prog = random_program(seed);
		struct choice choice;
		struct pugmark_plan *plan;
		uint32_t unresolved = 0;
		int err = choose_witnesses(prog, mode, &choice, &unresolved);
		assert_true(!err || err == -EDOM);
		assert_int_equal(plan_build(prog, &choice, mode, NULL, &plan), 0);
		uint64_t faults = faults_of(plan, !unresolved);
		if (!unresolved && faults)
			print_error("of program %" PRIu64 "\n", seed);
		failed += !unresolved && faults;
		resolved += !unresolved;
		missed += unresolved && !faults;
		pugmark_plan_free(plan);
		choice_deinit(&choice);
		program_free(prog);
	}
	print_message("%u plans; of %u unresolved ones %u are accepted\n", resolved,
		      (uint32_t)programs - resolved, missed);
	assert_int_equal(failed, 0);
}

static void plans_of_mode_full_are_accepted(void **state)
{
	(void)state;
	every_plan_is_accepted(MODE_FULL);
}

static void plans_of_mode_branch_are_accepted(void **state)
{
	(void)state;
	every_plan_is_accepted(MODE_BRANCH);
}

static void plans_of_mode_casper_are_accepted(void **state)
{
	(void)state;
	every_plan_is_accepted(MODE_CASPER);
}

static void plans_of_mode_best_are_accepted(void **state)
{
	(void)state;
	every_plan_is_accepted(MODE_BEST);
}

/* ---- plans with less in them ---- */

struct mutants {
	uint64_t made, refused, accepted, walks, failed;
};

/* A plan that is accepted has to be good: every walk comes out of its log. */
static void judge(const struct program *prog, const struct choice *choice,
		  const struct pugmark_plan *plan, uint64_t seed, struct mutants *m)
{
	m->made++;
	if (faults_of(plan, false)) {
		m->refused++;
		return;
	}
	m->accepted++;
	for (uint32_t i = 0; i < 10; i++) {
		struct walk walk;
		struct walk_verdict verdict;
		walk_program(prog, choice, plan, 0, 20 + 20 * i, seed * 1000003 + i, &walk);
		m->walks++;
		if (!walk_check(&walk, plan, &verdict)) {
			print_error("program %" PRIu64 ", walk %u: %s\n", seed, i, verdict.text);
			m->failed++;
			i = 10;
		}
		walk_deinit(&walk);
	}
}

static void without_a_probe(const struct program *prog, struct choice *choice, enum plan_mode mode,
			    uint32_t block, uint64_t seed, struct mutants *m)
{
	struct pugmark_plan *plan;
	uint8_t mark = choice->marks[block];
	choice->marks[block] = MARK_NONE;
	assert_int_equal(plan_build(prog, choice, mode, NULL, &plan), 0);
	judge(prog, choice, plan, seed, m);
	choice->marks[block] = mark;
	pugmark_plan_free(plan);
}

/* What of a site can be dropped. */
enum drop { DROP_RET, DROP_FLAGS, DROP_TARGET, DROP_SNAPSHOT, DROP_STACK, DROP_FRAME, N_DROPS };

static bool drop(struct pugmark_plan_site *s, enum drop what)
{
	struct pugmark_plan_site before = *s;
	if (what == DROP_FRAME) {
		s->cfa_reg = PUGMARK_CFA_UNKNOWN;
		s->capture &= ~(PUGMARK_CAPTURE_RET | PUGMARK_CAPTURE_SNAPSHOT);
	} else {
		static const uint8_t bits[] = {PUGMARK_CAPTURE_RET, PUGMARK_CAPTURE_FLAGS,
					       PUGMARK_CAPTURE_TARGET, PUGMARK_CAPTURE_SNAPSHOT,
					       PUGMARK_CAPTURE_STACK};
		s->capture &= ~bits[what];
	}
	return s->cfa_reg != before.cfa_reg || s->capture != before.capture;
}

static void reading_less(const struct program *prog, const struct choice *choice,
			 const struct pugmark_plan *plan, uint32_t site, uint64_t seed,
			 struct mutants m[N_DROPS])
{
	struct pugmark_plan_site *sites = malloc(plan->n_sites * sizeof(*sites));
	assert_non_null(sites);
	memcpy(sites, plan->sites, plan->n_sites * sizeof(*sites));
	struct pugmark_plan less = *plan;
	less.sites = sites;
	for (int what = 0; what < N_DROPS; what++) {
		if (drop(&sites[site], what))
			judge(prog, choice, &less, seed, &m[what]);
		sites[site] = plan->sites[site];
	}
	free(sites);
}

static void print_mutants(const char *what, const struct mutants *m)
{
	print_message("%-9s %6" PRIu64 " plans, %6" PRIu64 " refused, %5" PRIu64
		      " still good in %" PRIu64 " walks\n",
		      what, m->made, m->refused, m->accepted, m->walks);
}

static void less_is_refused_or_enough(enum plan_mode mode)
{
	static const char *const names[] = {"ret", "flags", "target", "snapshot", "stack", "frame"};
	struct mutants probes = {0}, drops[N_DROPS] = {0};
	uint64_t programs = setting("CHECK_PROGRAMS", 1000), from = setting("CHECK_FROM", 1);
	for (uint64_t seed = from; seed < from + programs && probes.failed < 5; seed++) {
		struct program *prog = random_program(seed);
		struct choice choice;
		struct pugmark_plan *plan;
		uint32_t unresolved = 0;
		uint64_t rng = seed;
		choose_witnesses(prog, mode, &choice, &unresolved);
		assert_int_equal(plan_build(prog, &choice, mode, NULL, &plan), 0);
		for (int i = 0; i < 8 && !unresolved && plan->n_sites; i++) {
			uint32_t block = random_below(&rng, prog->n_blocks);
			if (choice.marks[block] && prog->blocks[block].flags & PROG_REACHED)
				without_a_probe(prog, &choice, mode, block, seed, &probes);
			reading_less(prog, &choice, plan, random_below(&rng, plan->n_sites), seed,
				     drops);
		}
		pugmark_plan_free(plan);
		choice_deinit(&choice);
		program_free(prog);
	}
	print_mutants("probe", &probes);
	uint64_t failed = probes.failed;
	for (int i = 0; i < N_DROPS; i++) {
		print_mutants(names[i], &drops[i]);
		failed += drops[i].failed;
	}
	assert_int_equal(failed, 0);
	/* No plan does without these. */
	assert_int_equal(drops[DROP_FLAGS].accepted + drops[DROP_TARGET].accepted +
				 drops[DROP_SNAPSHOT].accepted + drops[DROP_STACK].accepted,
			 0);
	/* What is not refused was chosen while less was known: of callees in the same recursion,
	 * and of what unknown code calls. */
	if (mode == MODE_BEST)
		assert_true(probes.refused * 100 >= probes.made * 45);
	assert_true(drops[DROP_RET].refused && drops[DROP_FRAME].refused);
}

static void less_than_mode_casper_is_refused_or_enough(void **state)
{
	(void)state;
	less_is_refused_or_enough(MODE_CASPER);
}

static void less_than_mode_best_is_refused_or_enough(void **state)
{
	(void)state;
	less_is_refused_or_enough(MODE_BEST);
}

/* Faults of the plan for function 1, which makes a silent call on either way, and then one of @n
 * calls of function 0 or another one; function 0 shows, and where it returns to where @reads. */
static uint64_t faults_of_fan(uint32_t n, bool reads)
{
	struct prog_func funcs[2] = {{.n_blocks = 1, .freq = 1},
				     {.block = 1, .n_blocks = n + 4, .origin = 1, .freq = 1}};
	struct prog_block *blocks = calloc(n + 5, sizeof(*blocks));
	uint32_t *succs = calloc(n + 3, sizeof(*succs));
	struct choice choice = {.marks = calloc(n + 5, 1), .capture_ret = calloc(n + 5, 1)};
	struct program prog = {.funcs = funcs,
			       .blocks = blocks,
			       .succs = succs,
			       .n_funcs = 2,
			       .n_blocks = n + 5,
			       .n_succs = n + 3};
	struct pugmark_plan *plan;
	for (uint32_t b = 0; b < n + 5; b++) {
		blocks[b] = hand_block(b, b > 0);
		blocks[b].call = b < 2 ? CALL_NONE : b < 4 ? CALL_LEAF : CALL_DIRECT;
		blocks[b].callee = b < 4 ? PUGMARK_NONE : 0;
		blocks[b].flags |= b > 0 && b < 4 ? 0 : PROG_RET;
	}
	for (uint32_t i = 0; i < n + 3; i++)
		succs[i] = i + 2; /* 2 and 3 after 1, the last after 3, the others after 2 */
	blocks[1].n_succ = 2;
	blocks[2].succ = 2;
	blocks[2].n_succ = n;
	blocks[3].succ = n + 2;
	blocks[3].n_succ = 1;
	choice.marks[0] = MARK_BLOCK;
	choice.capture_ret[0] = reads;
	assert_int_equal(plan_build(&prog, &choice, MODE_BEST, NULL, &plan), 0);
	uint64_t faults = faults_of(plan, false);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	free(blocks);
	free(succs);
	return faults;
}

static void as_many_calls_as_there_are_are_told_apart(void **state)
{
	(void)state;
	for (uint32_t n = 50; n <= 400; n += 50) {
		assert_int_equal(faults_of_fan(n, true), 0);
		assert_true(faults_of_fan(n, false) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_calls_as_there_are_are_told_apart),
		cmocka_unit_test(plans_of_mode_full_are_accepted),
		cmocka_unit_test(plans_of_mode_branch_are_accepted),
		cmocka_unit_test(plans_of_mode_casper_are_accepted),
		cmocka_unit_test(plans_of_mode_best_are_accepted),
		cmocka_unit_test(less_than_mode_casper_is_refused_or_enough),
		cmocka_unit_test(less_than_mode_best_is_refused_or_enough),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
