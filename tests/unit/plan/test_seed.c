// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_seed.c: claims of a choice that begins with an earlier plan, from whose scope some functions
 * of real programs went: it has no fault that a choice from nothing has not, by the check of
 * finished plans, which shares no code with it; it has at most 15 % more probes; and it takes less
 * work, counted in steps of the choice. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offline/plan/plan_seed.h"
#include "offline/plan/plan_build.h"
#include "offline/prove/plan_check.h"
#include "tests/support/random_program.h"

struct planned {
	struct program *prog;
	struct pugmark_plan *plan;
	uint32_t unresolved;
	uint64_t steps;
};

static struct planned make(const struct pugmark_model *model, const bool *opaque,
			   const struct pugmark_plan *seed_plan)
{
	struct program_options options = {.costs = probe_costs_default, .opaque = opaque};
	struct planned p = {0};
	struct choice choice;
	struct choice_seed seed;
	int err;
	assert_int_equal(program_from_model(model, &options, &p.prog), 0);
	if (seed_plan) {
		assert_int_equal(choice_seed_from_plan(p.prog, seed_plan, &seed), 0);
		err = choose_witnesses_seeded(p.prog, &seed, &choice, &p.unresolved);
		choice_seed_deinit(&seed);
	} else {
		err = choose_witnesses(p.prog, MODE_BEST, &choice, &p.unresolved);
	}
	assert_true(!err || err == -EDOM);
	p.steps = choice.steps;
	assert_int_equal(plan_build(p.prog, &choice, MODE_BEST, model, &p.plan), 0);
	choice_deinit(&choice);
	return p;
}

static void planned_deinit(struct planned *p)
{
	pugmark_plan_free(p->plan);
	program_free(p->prog);
}

static uint64_t faults_of(const struct pugmark_plan *plan)
{
	struct plan_check_counts counts;
	assert_int_equal(plan_check(plan, NULL, NULL, &counts), 0);
	return counts.faults;
}

/* What all plans took. */
struct totals {
	uint64_t seeded, fresh;
};

/* Functions go one after another, as --max-overhead takes them: each plan is the next one's seed.
 */
static void take_out(const char *path, const struct pugmark_model *model, uint64_t *rng,
		     struct totals *totals)
{
	bool *opaque = calloc(model->n_funcs + 1, sizeof(*opaque));
	struct planned last = make(model, NULL, NULL);
	for (uint32_t round = 1; round <= 3; round++) {
		for (uint32_t i = 0; i < 2 * round * round; i++)
			opaque[random_below(rng, model->n_funcs)] = true;
		struct planned seeded = make(model, opaque, last.plan);
		struct planned fresh = make(model, opaque, NULL);
		print_message("%s: %u probes in %" PRIu64 " steps, from nothing %u in %" PRIu64
			      "; %u and %u unresolved\n",
			      path, seeded.plan->n_sites, seeded.steps, fresh.plan->n_sites,
			      fresh.steps, seeded.unresolved, fresh.unresolved);
		assert_true(seeded.unresolved <= fresh.unresolved);
		/* A jump into what was taken out may be a fault of either. */
		if (!seeded.unresolved)
			assert_true(faults_of(seeded.plan) <= faults_of(fresh.plan));
		assert_true(seeded.plan->n_sites <= fresh.plan->n_sites * 1.15);
		totals->seeded += seeded.steps;
		totals->fresh += fresh.steps;
		planned_deinit(&fresh);
		planned_deinit(&last);
		last = seeded;
	}
	planned_deinit(&last);
	free(opaque);
}

static void test_seeded(void **state)
{
	static const char *const files[] = {"/usr/bin/gzip", "/usr/bin/lua5.4", "/usr/sbin/nginx"};
	uint64_t rng = 20;
	struct totals totals = {0};
	uint32_t n = 0;
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct pugmark_model *model;
		struct pugmark_diag diag;
		if (access(files[i], R_OK)) {
			print_message("%s is not on this machine\n", files[i]);
			continue;
		}
		if (pugmark_model_open(files[i], &model, &diag))
			fail_msg("%s: %s", files[i], diag.text);
		take_out(files[i], model, &rng, &totals);
		pugmark_model_free(model);
		n++;
	}
	if (!n)
		skip();
	print_message("%" PRIu64 " steps in all, from nothing %" PRIu64 "\n", totals.seeded,
		      totals.fresh);
	assert_true(totals.seeded && totals.seeded < totals.fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeded)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
