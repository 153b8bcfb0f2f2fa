// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_best_cost.c: claims about what modes cost: best is never dearer than casper, by the same
 * estimates, unless it resolves more; on random programs, and on functions with thousands of calls,
 * which are too many for all pairs of them. Where frequencies are counts, best costs less than
 * where the same ones are guesses, and its plans are accepted. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/choose/choose.h"
#include "offline/plan/plan_build.h"
#include "offline/prove/plan_check.h"
#include "tests/support/hand_program.h"
#include "tests/support/random_program.h"

struct outcome {
	double cost_ns;
	uint32_t unresolved;
};

static struct outcome outcome_of(const struct program *prog, enum plan_mode mode)
{
	struct outcome out = {0};
	struct choice choice;
	int err = choose_witnesses(prog, mode, &choice, &out.unresolved);
	assert_true(!err || err == -EDOM);
	out.cost_ns = choice_cost(prog, &choice);
	choice_deinit(&choice);
	return out;
}

static void best_is_never_dearer(void **state)
{
	(void)state;
	const char *text = getenv("COST_PROGRAMS");
	uint64_t programs = text ? strtoull(text, NULL, 0) : 6000;
	uint32_t cheaper = 0, compared = 0, leaves_more = 0;
	double logs = 0;
	for (uint64_t seed = 1; seed <= programs; seed++) {
		struct program *prog = random_program(seed);
		struct outcome best = outcome_of(prog, MODE_BEST);
		struct outcome casper = outcome_of(prog, MODE_CASPER);
		if (best.cost_ns > casper.cost_ns && best.unresolved >= casper.unresolved)
			fail_msg("program %" PRIu64 ": best %g, casper %g", seed, best.cost_ns,
				 casper.cost_ns);
		cheaper += best.cost_ns < casper.cost_ns;
		leaves_more += best.unresolved > casper.unresolved;
		if (best.unresolved == casper.unresolved && best.cost_ns > 0) {
			logs += log(best.cost_ns / casper.cost_ns);
			compared++;
		}
		program_free(prog);
	}
	double mean = exp(logs / compared);
	print_message("best is cheaper for %u of %" PRIu64 " programs, costs %.5f of casper in the "
		      "geometric mean of %u, leaves more unresolved in %u\n",
		      cheaper, programs, mean, compared, leaves_more);
	/* not merely never dearer: where they differ it is by design, not by chance */
	assert_true(cheaper > programs / 2 && mean < 1);
	assert_true(leaves_more * 1000 <= programs);
}

/* What the plan by the program's frequencies as counts costs, or as guesses. */
static double cost_by(struct program *prog, bool counts, uint32_t *unresolved)
{
	struct choice choice;
	struct pugmark_plan *plan;
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		prog->funcs[f].flags = counts ? prog->funcs[f].flags | PROG_COUNTED
					      : prog->funcs[f].flags & ~PROG_COUNTED;
	int err = choose_witnesses(prog, MODE_BEST, &choice, unresolved);
	assert_true(!err || err == -EDOM);
	double cost = choice_cost(prog, &choice);
	assert_int_equal(plan_build(prog, &choice, MODE_BEST, NULL, &plan), 0);
	struct plan_check_counts found = {0};
	assert_int_equal(plan_check(plan, NULL, NULL, &found), 0);
	assert_true(*unresolved || !found.faults);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	return cost;
}

/* Frequencies are the same ones in both, and only how far they are trusted differs, so that what is
 * chosen by counts costs less in the mean by these very frequencies. It may cost more for one
 * program: what is cheaper for a function alone may not be for its callers. That it pays in
 * programs is measured by recordings (docs/experiments.md). */
static void counts_cost_no_more_than_guesses(void **state)
{
	(void)state;
	double logs = 0;
	uint32_t compared = 0, cheaper = 0, dearer = 0;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct program *prog = random_program(seed);
		uint32_t by_guess = 0, by_counts = 0;
		double guess = cost_by(prog, false, &by_guess);
		double count = cost_by(prog, true, &by_counts);
		if (by_guess == by_counts && guess > 0) {
			logs += log(count / guess);
			compared++;
			cheaper += count < guess;
			dearer += count > guess;
		}
		program_free(prog);
	}
	double mean = exp(logs / compared);
	print_message("by counts %.5f of what it costs by guesses, in the geometric mean of %u; "
		      "cheaper for %u, dearer for %u\n",
		      mean, compared, cheaper, dearer);
	assert_true(mean < 1 && cheaper > dearer);
}

/* ---- one function with many calls ---- */

/* Function 0: two ways to its end, so that it shows. Function 1: one of @calls calls of it, or what
 * is not known, and the end. */
static struct program many_calls(uint32_t calls, enum prog_call kind)
{
	struct program p = {.n_funcs = 2, .n_blocks = calls + 5, .n_succs = 2 * calls + 2};
	p.funcs = calloc(p.n_funcs, sizeof(*p.funcs));
	p.blocks = calloc(p.n_blocks, sizeof(*p.blocks));
	p.succs = calloc(p.n_succs, sizeof(*p.succs));
	assert_true(p.funcs && p.blocks && p.succs);
	for (uint32_t b = 0; b < p.n_blocks; b++)
		p.blocks[b] = hand_block(b, b >= 3);
	uint32_t end = p.n_blocks - 1;
	p.funcs[0] = (struct prog_func){.n_blocks = 3, .freq = 1};
	p.funcs[1] = (struct prog_func){.block = 3, .n_blocks = calls + 2, .freq = 1, .origin = 1};
	p.funcs[0].addr = p.blocks[0].addr;
	p.funcs[1].addr = p.blocks[3].addr;
	p.blocks[1].flags |= PROG_RET;
	p.blocks[2].flags |= PROG_RET;
	p.blocks[end].flags |= PROG_RET;
	p.blocks[0].n_succ = 2;
	p.succs[0] = 1;
	p.succs[1] = 2;
	p.blocks[3].succ = 2;
	p.blocks[3].n_succ = calls;
	for (uint32_t i = 0; i < calls; i++) {
		uint32_t b = 4 + i;
		p.succs[2 + i] = b;
		p.succs[2 + calls + i] = end;
		p.blocks[b].succ = 2 + calls + i;
		p.blocks[b].n_succ = 1;
		p.blocks[b].call = kind;
		p.blocks[b].callee = kind == CALL_DIRECT ? 0 : PUGMARK_NONE;
	}
	return p;
}

static void functions_with_thousands_of_calls(enum prog_call kind)
{
	struct program prog = many_calls(6000, kind);
	struct outcome casper = outcome_of(&prog, MODE_CASPER);
	struct outcome best = outcome_of(&prog, MODE_BEST);
	struct outcome full = outcome_of(&prog, MODE_FULL);
	print_message("6000 calls: full %.0f ns, casper %.0f ns, best %.0f ns\n", full.cost_ns,
		      casper.cost_ns, best.cost_ns);
	assert_int_equal(casper.unresolved + best.unresolved, 0);
	assert_true(0 < best.cost_ns && best.cost_ns <= casper.cost_ns);
	assert_true(casper.cost_ns < full.cost_ns);
	free((void *)prog.funcs);
	free((void *)prog.blocks);
	free((void *)prog.succs);
}

static void thousands_of_direct_calls(void **state)
{
	(void)state;
	functions_with_thousands_of_calls(CALL_DIRECT);
}

static void thousands_of_unknown_calls(void **state)
{
	(void)state;
	functions_with_thousands_of_calls(CALL_UNKNOWN);
}

/* ---- functions that call each other ---- */

/* f calls g, and then k or not; g calls f or not; k may be called from anywhere, so that its entry
 * shows. That of f's last decision k's entry tells is known only once it is known what g can show.
 */
static void what_calls_each_other_is_known_in_the_end(void **state)
{
	(void)state;
	enum { F, F_BRANCH, F_K, F_END, G, G_F, G_END, K, BLOCKS };
	struct prog_block blocks[BLOCKS];
	uint32_t succs[] = {F_BRANCH, F_K, F_END, F_END, G_F, G_END, G_END};
	struct prog_func funcs[] = {
		{.block = F, .n_blocks = 4, .freq = 1},
		{.block = G, .n_blocks = 3, .freq = 1, .origin = 1},
		{.block = K, .n_blocks = 1, .freq = 1, .origin = 2, .flags = PROG_ENTRY_WITNESS},
	};
	for (uint32_t b = 0; b < BLOCKS; b++)
		blocks[b] = hand_block(b, b < G ? 0 : b < K ? 1 : 2);
	blocks[F].call = blocks[F_K].call = blocks[G_F].call = CALL_DIRECT;
	blocks[F].callee = 1;
	blocks[F_K].callee = 2;
	blocks[G_F].callee = 0;
	blocks[F_END].flags |= PROG_RET;
	blocks[G_END].flags |= PROG_RET;
	blocks[K].flags |= PROG_RET;
	for (uint32_t b = 0, n = 0; b < K; b++) {
		blocks[b].succ = n;
		blocks[b].n_succ = b == F_BRANCH || b == G ? 2 : blocks[b].flags & PROG_RET ? 0 : 1;
		n += blocks[b].n_succ;
	}
	for (int f = 0; f < 3; f++)
		funcs[f].addr = blocks[funcs[f].block].addr;
	struct program prog = {.funcs = funcs,
			       .blocks = blocks,
			       .succs = succs,
			       .n_funcs = 3,
			       .n_blocks = BLOCKS,
			       .n_succs = 7};
	struct choice choice;
	uint32_t unresolved, in_f = 0, in_g = 0;
	assert_int_equal(choose_witnesses(&prog, MODE_BEST, &choice, &unresolved), 0);
	for (uint32_t b = F; b < G; b++)
		in_f += choice.marks[b] != MARK_NONE;
	for (uint32_t b = G; b < K; b++)
		in_g += choice.marks[b] != MARK_NONE;
	assert_int_equal(in_f, 0);
	assert_int_equal(in_g, 1);
	assert_int_not_equal(choice.marks[K], MARK_NONE);
	choice_deinit(&choice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_is_never_dearer),
		cmocka_unit_test(counts_cost_no_more_than_guesses),
		cmocka_unit_test(thousands_of_direct_calls),
		cmocka_unit_test(thousands_of_unknown_calls),
		cmocka_unit_test(what_calls_each_other_is_known_in_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
