// SPDX-License-Identifier: LGPL-2.1-or-later
/* paths_cost.c: what each placement of witnesses would have cost in one run, which was recorded
 * with
 * --level paths by any of them: every block's executions are known from it, so the hits of every
 * other placement are a sum.
 *
 *   paths_cost BINARY RECORDING [profile]
 *
 * One line a placement: its name, witness hits, executed blocks, cost in ns, sites, seconds to
 * choose. With `profile` frequencies are those of the run itself, not estimates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pugmark/trace.h>

#include "offline/plan/plan_build.h"

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static uint64_t *count_blocks(const struct pugmark_model *model, const char *dir)
{
	struct pugmark_diag diag;
	struct pugmark_trace *trace;
	uint64_t *counts = calloc(model->n_blocks + 1, sizeof(*counts));
	uint32_t n;
	if (pugmark_trace_open(dir, &trace, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		exit(1);
	}
	pugmark_recording_tasks(pugmark_trace_recording(trace), &n);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_trace_iter *it;
		const struct pugmark_trace_event *e;
		if (pugmark_trace_iter_new(trace, i, &it))
			exit(1);
		while (pugmark_trace_next(it, &e) == 1) {
			if (e->kind == PUGMARK_TRACE_GAP) {
				fprintf(stderr, "the trace has gaps\n");
				exit(1);
			}
			if (e->kind == PUGMARK_TRACE_BLOCK)
				counts[pugmark_model_block_at(model, e->addr)]++;
		}
		pugmark_trace_iter_free(it);
	}
	pugmark_trace_free(trace);
	return counts;
}

static void weigh(const struct pugmark_model *model, const struct program *prog,
		  const uint64_t *counts, const char *name, enum plan_mode mode)
{
	struct choice choice;
	uint32_t unresolved = 0, sites = 0;
	uint64_t hits = 0, blocks = 0;
	double cost = 0, start = now_s();
	int err = choose_witnesses(prog, mode, &choice, &unresolved);
	if (err || unresolved)
		fprintf(stderr, "%s: error %d, %u unresolved\n", name, err, unresolved);
	double seconds = now_s() - start;
	for (uint32_t i = 0; i < model->n_blocks; i++)
		blocks += counts[i];
	for (uint32_t i = 0; i < prog->n_blocks; i++) {
		const struct prog_block *b = &prog->blocks[i];
		if (!choice.marks[i])
			continue;
		uint64_t n = counts[b->origin];
		sites++;
		hits += n;
		cost += n *
			(double)(choice.marks[i] == MARK_BLOCK ? b->any.cost_ns : b->last.cost_ns);
	}
	printf("%s %llu %llu %.0f %u %.2f\n", name, (unsigned long long)hits,
	       (unsigned long long)blocks, cost, sites, seconds);
	choice_deinit(&choice);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"blocks", "targets", "edges", "nodes", "best"};
	struct pugmark_model *model;
	struct pugmark_diag diag;
	struct program *prog;
	if (argc < 3 || pugmark_model_open(argv[1], &model, &diag))
		return 2;
	uint64_t *counts = count_blocks(model, argv[2]);
	bool *paths = malloc(model->n_funcs + 1);
	memset(paths, true, model->n_funcs + 1);
	struct program_options options = {.costs = probe_costs_default, .paths = paths};
	if (argc > 3)
		options.counts = counts;
	if (program_from_model(model, &options, &prog))
		return 1;
	for (int i = 0; i < 5; i++)
		weigh(model, prog, counts, names[i], MODE_PATHS_BLOCKS + i);
	program_free(prog);
	free(paths);
	free(counts);
	pugmark_model_free(model);
	return 0;
}
