// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_patched_plan.c: claims about a plan that is made for patches, of this program: hardly
 * any witness more that no patch can carry than in one that is made for probes (of which nearly all
 * can be carried as well), nearly all of what its choice counted on as patched has a place, and it
 * tells no less: its proof holds as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "offline/choose/choose.h"
#include "offline/patch/placing.h"
#include "offline/plan/plan_build.h"
#include "offline/program/program.h"
#include "offline/prove/plan_check.h"

static struct pugmark_model *model;

static struct pugmark_plan *plan_of(const uint8_t *patchable)
{
	const struct program_options options = {.costs = probe_costs_default,
						.patchable = patchable};
	struct program *program;
	struct pugmark_plan *plan;
	struct choice choice;
	uint32_t unresolved;

	assert_int_equal(program_from_model(model, &options, &program), 0);
	choose_witnesses(program, MODE_BEST, &choice, &unresolved);
	assert_int_equal(plan_build(program, &choice, MODE_BEST, model, &plan), 0);
	choice_deinit(&choice);
	program_free(program);
	return plan;
}

/* How many of the plan's witnesses no patch can carry; *@missed: of those whose instruction was
 * counted on. */
static uint32_t count_left(const struct pugmark_plan *plan, const uint8_t *patchable,
			   uint32_t *missed)
{
	struct patch_placing placing;

	*missed = 0;
	assert_int_equal(patch_placing_find(model, plan->sites, plan->n_sites, &placing), 0);
	uint32_t left = placing.n - placing.n_found, at = 0;
	for (uint32_t i = 0; i < model->n_insns; i++) {
		uint64_t addr = model->text_addr + model->insns[i].off;

		while (at < plan->n_sites && plan->sites[at].addr < addr)
			at++;
		if (at < plan->n_sites && plan->sites[at].addr == addr && patchable[i])
			*missed += !placing.places[at].form;
	}
	patch_placing_deinit(&placing);
	return left;
}

static void patches_are_chosen_for(void **state)
{
	struct plan_check_counts counts;
	struct pugmark_diag diag;
	uint8_t *patchable;
	uint32_t missed, ignored;

	(void)state;
	assert_int_equal(pugmark_model_open("/proc/self/exe", &model, &diag), 0);
	assert_int_equal(patch_placing_possible(model, &patchable), 0);
	struct pugmark_plan *probed = plan_of(NULL), *patched = plan_of(patchable);
	uint32_t before = count_left(probed, patchable, &ignored),
		 left = count_left(patched, patchable, &missed);
	print_message("%u of %u witnesses left to probes, and %u of %u; %u had been counted on\n",
		      before, probed->n_sites, left, patched->n_sites, missed);
	assert_true(left <= before + patched->n_sites / 1000);
	assert_true(missed <= patched->n_sites / 500);
	assert_true(patched->expected_cost_ns < probed->expected_cost_ns / 5);
	assert_int_equal(plan_check(patched, NULL, NULL, &counts), 0);
	assert_true(counts.decisions > 100 && !counts.faults);
	pugmark_plan_free(probed);
	pugmark_plan_free(patched);
	free(patchable);
	pugmark_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patches_are_chosen_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
