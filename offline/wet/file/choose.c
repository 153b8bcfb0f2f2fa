// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose.c: see choose.h. What a step costs is measured, of the first block. */
#include "offline/wet/file/choose.h"

#include <errno.h>
#include <time.h>

/* Of this thread alone: a block takes long enough for others to come in between. */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Executes the first block again. 0, or it cannot be. */
static int measure(const struct noted *noted, double *step_ns)
{
	struct again *a =
		again_new(noted->blocks, noted->n, noted->addrs, noted->pages, noted->n_pages);
	const uint64_t *results;
	double start = now();
	int err = a ? again_results(a, 0, &results) : -ENOMEM;
	*step_ns = 1e9 * (now() - start) / (double)(noted->blocks[0].n_results + 1);
	again_free(a);
	return err;
}

/* Whether there is a block for each cut but the last, its results are the graph's values, and who
 * reads it believes that it has so much. */
static bool is_of(const struct noted *noted, const struct wet_graph *graph)
{
	const struct bytes *executions;
	uint32_t n, n_nodes, n_unforeseen, n_flows;
	const struct wet_cut *cuts = wet_graph_cuts(graph, &n, &executions);
	wet_graph_unforeseen(graph, &n_unforeseen);
	wet_graph_flows(graph, &n_flows);
	wet_graph_nodes(graph, &n_nodes);
	bool is = noted->n && n == noted->n + 1 && n_unforeseen == noted->n &&
		  n_flows == noted->n && noted->n_pages <= AGAIN_CODE_MAX &&
		  (uint64_t)n * n_nodes <= AGAIN_COUNTS_MAX;
	for (uint32_t i = 0; i < noted->n && is; i++)
		is = cuts[i + 1].values - cuts[i].values == noted->blocks[i].n_results &&
		     cuts[i + 1].paths - cuts[i].paths <= AGAIN_INSNS_MAX &&
		     again_block_fits(&noted->blocks[i]);
	return is;
}

bool wet_can_execute(const struct wet_graph *graph, const struct noted *noted, double *step_ns)
{
	return is_of(noted, graph) && !measure(noted, step_ns);
}
