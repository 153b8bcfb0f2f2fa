// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_plan.c: `pugmark plan`: chooses the witnesses of a binary and says what was chosen. */
#include "offline/plan_build.h"
#include "user/command.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

int cmd_plan(int argc, char **argv)
{
	struct pugmark_diag diag;
	struct pugmark_model *model;
	static const char *const names[] = {"full",	   "branch",	   "casper",
					    "best",	   "paths-blocks", "paths-targets",
					    "paths-edges", "paths-nodes",  "paths-best"};
	enum plan_mode mode = MODE_BEST;
	for (int i = 0; argc > 2 && i < N_PLAN_MODES; i++)
		if (!strcmp(argv[2], names[i]))
			mode = i;
	double t0 = now_s();
	if (pugmark_model_open(argv[1], &model, &diag))
		return command_fail(&diag);
	double t1 = now_s();
	struct program *prog;
	bool *paths = NULL;
	if (mode >= MODE_PATHS_BLOCKS) {
		paths = malloc(model->n_funcs + 1);
		memset(paths, true, model->n_funcs);
	}
	struct program_options options = {.costs = probe_costs_default, .paths = paths};
	if (program_from_model(model, &options, &prog))
		return EXIT_ERROR;
	double t2 = now_s();
	struct choice choice;
	uint32_t unresolved = 0;
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	double t3 = now_s();
	struct pugmark_plan *plan;
	if (plan_build(prog, &choice, mode, model, &plan))
		return EXIT_ERROR;
	double t4 = now_s();
	uint32_t by_class[4] = {0}, by_kind[4] = {0};
	for (uint32_t i = 0; i < plan->n_sites; i++) {
		by_class[plan->sites[i].probe]++;
		by_kind[plan->sites[i].kind]++;
	}
	printf("%s: err %d unresolved %u funcs %u callsites %u blocks %u(+) sites %u: block %u "
	       "branch "
	       "%u target %u ret %u; emulated %u nop5 %u stepped %u refused %u; cost %.3g ms\n",
	       names[mode], err, unresolved, plan->n_funcs, model->n_sites, prog->n_blocks,
	       plan->n_sites, by_kind[0], by_kind[1], by_kind[2], by_kind[3], by_class[0],
	       by_class[1], by_class[2], by_class[3], plan->expected_cost_ns / 1e6);
	printf("model %.3f program %.3f choose %.3f build %.3f s\n", t1 - t0, t2 - t1, t3 - t2,
	       t4 - t3);
	if (argc > 3 && pugmark_plan_write(plan, argv[3], &diag))
		return command_fail(&diag);
	return 0;
}
