// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_shares.c: claims that for programs made at random, split over 1 to 8 machines by every
 * grouping, with a bound and without, at both levels: what runs under the shares record of a walk
 * is merged to exactly that walk; or the merge says in a gap where it does not know on. Never is it
 * another walk. Of the walks that end by themselves, of programs that throw nothing, and that take
 * no signal, hardly one has a gap: where a jump to other code looks like what that code calls. And
 * the proof finds no decision untold of which the set does not say that nothing can tell it.
 *
 * SHARE_PROGRAMS=n walks programs 1 to n, SHARE_FROM=n begins elsewhere, SHARE_SEED=n walks only
 * program n, and with SHARE_PRINT=1 a walk that fails is printed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/prove/share_check.h"
#include "tests/support/random_program.h"
#include "tests/support/share_runs.h"

#define WALKS_PER_PROGRAM 6

struct tally {
	uint64_t programs, bounded, unmade, untold, walks, whole, gaps, plain, plain_gaps, blind,
		events;
	uint64_t hidden, faulty, faulty_unsaid, together;
};

static const char *const groupings[] = {"fine", "function", "optimized", "best"};

/* Nothing happens in it but what the program's code does, and no throw can come. */
static bool is_plain(const struct walk *w, const struct pugmark_plan *plan)
{
	for (uint32_t i = 0; i < w->n_events; i++)
		if (w->events[i].kind == PUGMARK_EVENT_SIGNAL ||
		    (w->events[i].kind == PUGMARK_EVENT_END &&
		     pugmark_event_stopped(&w->events[i])))
			return false;
	for (uint32_t i = 0; i < plan->n_nodes; i++)
		if (plan->nodes[i].flags & PUGMARK_NODE_ROOT)
			return false;
	for (uint32_t i = 0; i < w->n_steps; i++)
		if (w->steps[i].kind == PUGMARK_TRACE_UNWIND ||
		    w->steps[i].cause == PUGMARK_CAUSE_SIGNAL)
			return false;
	return !w->untidy;
}

static void print_events(const char *of, const struct pugmark_witness_event *e, uint32_t n,
			 const struct share_set *set)
{
	printf("%s:\n", of);
	for (uint32_t i = 0; i < n && i < 60; i++)
		printf("  %u kind %u site %u (%llx, func %u, shares %llx) cfa %llx ret %llx val "
		       "%llx\n",
		       i, e[i].kind, e[i].site,
		       (unsigned long long)set->plan->sites[e[i].site].addr,
		       set->plan->sites[e[i].site].func,
		       e[i].kind ? 0ull : (unsigned long long)set->members[e[i].site],
		       (unsigned long long)e[i].arm.witness.cfa,
		       (unsigned long long)e[i].arm.witness.ret,
		       (unsigned long long)e[i].arm.witness.val);
}

static bool merge_once(const struct walk_ground *ground, const struct share_set *set,
		       struct share_teller *teller, uint64_t seed, uint32_t limit, struct tally *t)
{
	struct walk walk, again;
	struct merged_walk merged;
	struct walk_verdict whole, verdict;
	walk_over(ground, 0, limit, seed, &walk);
	bool base = walk_check_over(&walk, ground, &whole), plain = is_plain(&walk, set->plan);
	share_runs_merge(&walk, set, teller, &merged);
	t->hidden += !walk.told && walk.n_handlers;
	again = walk;
	again.events = merged.events;
	again.n_events = merged.n;
	bool same = !merged.err && walk_check_over(&again, ground, &verdict);
	bool gap = !merged.err && merged.diverged && !same && (verdict.gap || verdict.cut);
	t->walks++;
	t->events += merged.n;
	t->blind += whole.blind;
	t->whole += same;
	t->gaps += gap;
	t->plain += plain;
	t->plain_gaps += plain && gap;
	bool right = base && (same || gap);
	if (!right && getenv("SHARE_PRINT")) {
		printf("walk %llu: base %s, merged %s%s err %d; part %u, untold %d, func %u\n",
		       (unsigned long long)seed, whole.text, verdict.text,
		       merged.diverged ? " diverged" : "", merged.err, merged.at.part,
		       merged.at.untold, merged.at.func);
		walk_print(&walk);
		print_events("whole", walk.events, walk.n_events, set);
		print_events("merged", merged.events, merged.n, set);
	}
	if (!right)
		print_error("walk %llu: base %s, merged %s%s\n", (unsigned long long)seed,
			    whole.text, verdict.text, merged.diverged ? " diverged" : "");
	merged_walk_deinit(&merged);
	walk_deinit(&walk);
	return right;
}

static void print_fault(void *ctx, const struct share_fault *f)
{
	const struct share_set *set = ctx;
	const struct pugmark_plan_node *n = &set->plan->nodes[f->node];
	if (getenv("SHARE_PRINT"))
		printf("fault %d: func %u node %llx kind %u flags %x site %d other %llx\n", f->kind,
		       f->func, (unsigned long long)n->addr, n->kind, n->flags, (int)f->site,
		       f->other == PUGMARK_NONE
			       ? 0ull
			       : (unsigned long long)set->plan->nodes[f->other].addr);
}

/* Whether no share has more witnesses than the bound allows. */
static bool keeps_bound(const struct share_set *set, uint32_t bound)
{
	for (uint32_t k = 0; bound && k < set->n; k++) {
		uint32_t n = 0;
		for (uint32_t i = 0; i < set->plan->n_sites; i++)
			n += set->members[i] >> k & 1;
		if (n > bound) {
			print_error("share %u of %u has %u witnesses, the bound is %u\n", k + 1,
				    set->n, n, bound);
			return false;
		}
	}
	return true;
}

static bool merge_program(uint64_t seed, bool paths, struct tally *t)
{
	struct program *prog = random_program(seed);
	uint64_t rng = seed * 77;
	struct share_options o = {
		.machines = 1 + random_below(&rng, 8),
		.grouping = random_below(&rng, 4),
		.bound = random_chance(&rng, 30) ? 10 + random_below(&rng, 60) : 0,
		.paths = paths,
	};
	o.tellers = 1 + random_below(&rng, o.machines < 3 ? o.machines : 3);
	struct pugmark_diag diag = {0};
	struct share_set set;
	bool right = true;
	for (uint32_t f = 0; paths && f < prog->n_funcs; f++)
		prog->funcs[f].flags |= PROG_PATHS;
	t->programs++;
	int err = share_make(prog, NULL, &o, &set, &diag);
	if (err == -E2BIG && o.bound) {
		assert_non_null(strstr(diag.text, "--bound "));
		t->unmade++;
		program_free(prog);
		return true;
	}
	assert_int_equal(err, 0);
	if (!keeps_bound(&set, o.bound))
		fail_msg("program %llu", (unsigned long long)seed);
	t->bounded += o.bound != 0;
	struct share_teller *teller;
	struct walk_ground ground;
	struct choice choice;
	assert_int_equal(share_teller_new(set.plan, set.members, set.n, &teller), 0);
	share_runs_marks(prog, set.plan, &choice);
	walk_ground_init(&ground, prog, &choice, set.plan);
	t->untold += set.untold > 0;
	struct share_check_counts proved = {0};
	assert_int_equal(share_check(set.plan, set.members, set.n, print_fault, &set, &proved), 0);
	t->faulty += proved.faults > 0;
	t->together += proved.together > 0;
	/* Forks that are one in the plan of what is kept, and were several in the whole. */
	t->faulty_unsaid += proved.faults && !set.untold && !set.plan->unresolved;
	for (uint32_t i = 0; i < WALKS_PER_PROGRAM && right && !set.plan->unresolved; i++)
		right = merge_once(&ground, &set, teller, seed * 1000003 + i, 20 + 40 * i, t);
	if (!right)
		print_error("of program %llu, level %s, %u machines, grouping %s, bound %u\n",
			    (unsigned long long)seed, paths ? "paths" : "calls", o.machines,
			    groupings[o.grouping], o.bound);
	walk_ground_deinit(&ground);
	choice_deinit(&choice);
	share_teller_free(teller);
	share_set_deinit(&set);
	program_free(prog);
	return right;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void merge_many(bool paths, uint64_t programs)
{
	struct tally t = {0};
	uint64_t only = setting("SHARE_SEED", 0), from = setting("SHARE_FROM", 1);
	uint64_t stop = setting("SHARE_FAILURES", 5);
	uint64_t failed = 0;
	programs = setting("SHARE_PROGRAMS", programs);
	if (only)
		failed = !merge_program(only, paths, &t);
	for (uint64_t seed = from; !only && seed < from + programs && failed < stop; seed++)
		failed += !merge_program(seed, paths, &t);
	print_message("%llu programs (%llu with a bound too small, %llu with a fork that nothing "
		      "tells), %llu walks, %llu events: %llu merged whole, %llu to a gap; of %llu "
		      "plain ones %llu to a gap; %llu with signals that are no "
		      "events; %llu failed\n",
		      (unsigned long long)t.programs, (unsigned long long)t.unmade,
		      (unsigned long long)t.untold, (unsigned long long)t.walks,
		      (unsigned long long)t.events, (unsigned long long)t.whole,
		      (unsigned long long)t.gaps, (unsigned long long)t.plain,
		      (unsigned long long)t.plain_gaps, (unsigned long long)t.hidden,
		      (unsigned long long)failed);
	print_message(
		"the proof has faults of %llu programs, of %llu that the set does not say, and "
		"finds %llu with decisions that "
		"several shares tell together\n",
		(unsigned long long)t.faulty, (unsigned long long)t.faulty_unsaid,
		(unsigned long long)t.together);
	assert_int_equal(failed, 0);
	assert_int_equal(t.faulty_unsaid, 0);
	assert_true(only || t.plain_gaps * 100 <= t.plain);
	assert_true(only || t.gaps * 10 <= t.walks);
}

static void calls_are_merged(void **state)
{
	(void)state;
	merge_many(false, 4000);
}

static void paths_are_merged(void **state)
{
	(void)state;
	merge_many(true, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_merged),
		cmocka_unit_test(paths_are_merged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
