// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_share_odd.c: claims that where each decision is told by two machines, a run that was another
 * than all others is never merged into a trace that no run made: what comes out is the walk of the
 * others, or ends in a gap. Only how far the thread came after the last event that two shares saw
 * may be that of either: where a process ends is no decision of its code. Where one machine tells a
 * decision alone, traces of both do come out; that shows that the odd runs of this test can do
 * harm.
 *
 * ODD_PROGRAMS=n tries programs 1 to n, ODD_FROM=n begins elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "offline/prove/share_check.h"
#include "tests/support/random_program.h"
#include "tests/support/share_runs.h"

#define PAIRS_PER_PROGRAM 12

struct tally {
	uint64_t programs, alone, pairs, same, found, ends, fiction;
};

struct tried {
	const struct walk_ground *ground;
	const struct share_set *set;
	struct share_teller *teller;
};

static bool is_end(const struct pugmark_witness_event *e)
{
	return e->kind == PUGMARK_EVENT_END || e->kind == PUGMARK_EVENT_STOP;
}

/* Whether the one has the events of the other up to its end. */
static bool ends_elsewhere(const struct walk *walk, const struct merged_walk *merged)
{
	uint32_t n = walk->n_events < merged->n ? walk->n_events : merged->n;
	for (uint32_t i = 0; i < n; i++) {
		const struct pugmark_witness_event *a = &walk->events[i], *b = &merged->events[i];
		if (is_end(a) || is_end(b))
			return true;
		if (a->kind != b->kind || (a->kind == PUGMARK_EVENT_WITNESS && a->site != b->site))
			return false;
	}
	return true;
}

/* A walk, and another one of which one share, chosen at random, has its events. */
static void merge_pair(const struct tried *by, uint64_t seed, struct tally *t)
{
	uint64_t rng = seed;
	struct walk walk, other, again;
	struct merged_walk merged;
	struct walk_verdict verdict;
	uint32_t limit = 20 + random_below(&rng, 200), odd = random_below(&rng, by->set->n);
	walk_over(by->ground, 0, limit, seed * 2, &walk);
	walk_over(by->ground, 0, limit, seed * 2 + 1, &other);
	share_runs_merge_odd(&walk, odd, &other, by->set, by->teller, &merged);
	assert_int_equal(merged.err, 0);
	again = walk;
	again.events = merged.events;
	again.n_events = merged.n;
	bool same = walk_check_over(&again, by->ground, &verdict);
	t->pairs++;
	bool found = merged.diverged || (!same && verdict.gap);
	bool ends = !found && !same && ends_elsewhere(&walk, &merged);
	t->found += found;
	t->same += same && !found;
	t->ends += ends;
	t->fiction += !found && !same && !ends;
	if (!found && !same && !ends && getenv("ODD_PRINT"))
		print_error("pair %llu: share %u of %u is odd, %s\n", (unsigned long long)seed,
			    odd + 1, by->set->n, verdict.text);
	merged_walk_deinit(&merged);
	walk_deinit(&walk);
	walk_deinit(&other);
}

static void try_program(uint64_t seed, uint32_t tellers, bool paths, struct tally *t)
{
	struct program *prog = random_program(seed);
	uint64_t rng = seed * 77;
	struct share_options o = {
		.machines = 2 + random_below(&rng, 7),
		.grouping = random_below(&rng, 4),
		.tellers = tellers,
		.paths = paths,
	};
	struct pugmark_diag diag = {0};
	struct share_check_counts proved = {0};
	struct share_set set;
	struct share_teller *teller;
	struct walk_ground ground;
	struct choice choice;
	for (uint32_t f = 0; paths && f < prog->n_funcs; f++)
		prog->funcs[f].flags |= PROG_PATHS;
	assert_int_equal(share_make(prog, NULL, &o, &set, &diag), 0);
	assert_int_equal(share_teller_new(set.plan, set.members, set.n, &teller), 0);
	assert_int_equal(share_check(set.plan, set.members, set.n, NULL, NULL, &proved), 0);
	share_runs_marks(prog, set.plan, &choice);
	walk_ground_init(&ground, prog, &choice, set.plan);
	t->programs++;
	t->alone += proved.alone > 0;
	const struct tried by = {&ground, &set, teller};
	bool promised = tellers == 1 || (!proved.alone && !proved.faults);
	for (uint32_t i = 0; i < PAIRS_PER_PROGRAM && promised && !set.plan->unresolved; i++)
		merge_pair(&by, seed * 1000003 + i, t);
	walk_ground_deinit(&ground);
	choice_deinit(&choice);
	share_teller_free(teller);
	share_set_deinit(&set);
	program_free(prog);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

static struct tally try_many(uint32_t tellers, uint64_t programs)
{
	struct tally t = {0};
	uint64_t from = setting("ODD_FROM", 1);
	for (uint64_t seed = from; seed < from + programs; seed++)
		try_program(seed, tellers, seed % 2, &t);
	print_message("%u tellers: %llu programs, in %llu something is told by one share alone; of "
		      "%llu pairs of walks %llu were told apart, %llu look alike, %llu but for "
		      "their end, and %llu made a trace of both\n",
		      tellers, (unsigned long long)t.programs, (unsigned long long)t.alone,
		      (unsigned long long)t.pairs, (unsigned long long)t.found,
		      (unsigned long long)t.same, (unsigned long long)t.ends,
		      (unsigned long long)t.fiction);
	return t;
}

static void two_tellers_find_an_odd_run(void **state)
{
	(void)state;
	struct tally t = try_many(2, setting("ODD_PROGRAMS", 1500));
	assert_int_equal(t.fiction, 0);
	assert_true(t.alone * 10 <= t.programs);
	assert_true(t.found * 2 > t.pairs);
	assert_true(t.ends * 500 <= t.pairs);
}

static void one_teller_does_not(void **state)
{
	(void)state;
	struct tally t = try_many(1, 150);
	assert_true(t.fiction > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_tellers_find_an_odd_run),
		cmocka_unit_test(one_teller_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
