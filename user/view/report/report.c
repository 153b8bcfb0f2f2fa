// SPDX-License-Identifier: LGPL-2.1-or-later
/* report.c: see report.h. Every function and import has a number, so that counting is an index;
 * report_count.c counts thread by thread, and what the workers counted is added up here. */
#include "user/view/report/report.h"

#include "user/cli/parallel.h"
#include "user/view/report/report_count.h"
#include "user/view/report/report_made.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the sum ---- */

static struct report_spread spread_of(const struct report_took *c)
{
	struct report_spread spread = {
		.calls = c->certain.n,
		.min = {c->certain.min_ns, c->possible.min_ns},
		.median = report_quantile(c, .5),
		.p99 = report_quantile(c, .99),
		.max = {c->certain.max_ns, c->possible.max_ns},
	};
	spread.outliers = durations_above(&c->certain, REPORT_OUTLIER * spread.median.max_ns,
					  &spread.outliers_ns);
	spread.powers = spread.calls ? malloc(sizeof(*spread.powers)) : NULL;
	if (spread.powers) {
		durations_powers(&c->certain, spread.powers->certain);
		durations_powers(&c->possible, spread.powers->possible);
	}
	return spread;
}

static void free_funcs(struct report_func *funcs, uint32_t n)
{
	for (uint32_t i = 0; funcs && i < n; i++) {
		free(funcs[i].spread.powers);
		if (funcs[i].id.kind == FUNC_MADE)
			free((void *)funcs[i].id.import);
	}
	free(funcs);
}

static int add_up(struct report_job *j, struct report *out)
{
	struct report_worker *all = &j->workers[0];
	for (uint32_t k = 1; k < j->n_workers; k++) {
		const struct report_worker *w = &j->workers[k];
		for (uint32_t i = 0; i < j->ids.n; i++) {
			all->counters[i].calls += w->counters[i].calls;
			all->counters[i].unsure += w->counters[i].unsure;
			all->counters[i].hidden += w->counters[i].hidden;
			time_bounds_add(&all->counters[i].total, w->counters[i].total);
			time_bounds_add(&all->counters[i].self, w->counters[i].self);
			if (durations_merge(&all->took[i].certain, &w->took[i].certain) ||
			    durations_merge(&all->took[i].possible, &w->took[i].possible))
				return -ENOMEM;
		}
		slowest_merge(&all->slow, &w->slow);
		all->in_gaps.max_ns += w->in_gaps.max_ns;
		for (uint32_t i = 0; i < w->n_edges; i++) {
			uint32_t e =
				report_edge_between(all, w->edges[i].caller, w->edges[i].callee);
			if (all->failed)
				return -ENOMEM;
			all->edges[e].calls += w->edges[i].calls;
			time_bounds_add(&all->edges[e].total, w->edges[i].total);
		}
		all->gaps += w->gaps;
		all->witnesses += w->witnesses;
	}
	*out = (struct report){
		.gaps = all->gaps, .witnesses = all->witnesses, .in_gaps = all->in_gaps};
	j->funcs = calloc(j->ids.n + 1ul, sizeof(*j->funcs));
	if (!j->funcs)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->ids.n; i++) {
		j->funcs[i].id = j->ids.at[i];
		j->funcs[i].calls = all->counters[i].calls;
		j->funcs[i].unsure = all->counters[i].unsure;
		j->funcs[i].hidden = all->counters[i].hidden;
		j->funcs[i].total = all->counters[i].total;
		j->funcs[i].self = all->counters[i].self;
		j->funcs[i].spread = spread_of(&all->took[i]);
		out->calls += all->counters[i].calls;
	}
	out->funcs = j->funcs;
	out->n_funcs = j->ids.n;
	out->edges = all->edges;
	out->n_edges = all->n_edges;
	slowest_sort(&all->slow);
	out->slow = all->slow.at;
	out->n_slow = all->slow.n;
	j->funcs = NULL;
	all->edges = NULL;
	all->slow.at = NULL;
	return report_made_add(j->view, out);
}

static int make_workers(struct report_job *j)
{
	j->tasks = calloc(j->view->n_tasks + 1, sizeof(*j->tasks));
	if (!j->tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->view->n_tasks; i++)
		if (trace_view_has_task(j->view, i))
			j->tasks[j->n_tasks++] = i;
	uint32_t n = parallel_workers(j->n_tasks);
	j->workers = calloc(n, sizeof(*j->workers));
	if (!j->workers)
		return -ENOMEM;
	for (; j->n_workers < n; j->n_workers++) {
		struct report_worker *w = &j->workers[j->n_workers];
		w->job = j;
		w->counters = calloc(j->ids.n + 1, sizeof(*w->counters));
		w->took = calloc(j->ids.n + 1, sizeof(*w->took));
		if (!w->counters || !w->took || slowest_init(&w->slow, j->wish->slowest))
			return -ENOMEM;
	}
	return 0;
}

static void job_deinit(struct report_job *j)
{
	for (uint32_t i = 0; i < j->n_workers; i++) {
		struct report_worker *w = &j->workers[i];
		report_took_deinit(w->took, j->ids.n);
		void *heap[] = {w->counters,	    w->took,  w->edges,
				w->edge_covered_ns, w->table, w->slow.at};
		for (size_t k = 0; k < sizeof(heap) / sizeof(*heap); k++)
			free(heap[k]);
	}
	free_funcs(j->funcs, j->ids.n);
	func_ids_deinit(&j->ids);
	free(j->tasks);
	free(j->workers);
}

int report_collect(struct trace_view *view, const struct report_wish *wish, struct report *out,
		   struct pugmark_diag *diag)
{
	struct report_job j = {.view = view, .wish = wish};
	uint64_t total = 0;
	int err = func_ids_init(&j.ids, view);
	if (!err)
		err = make_workers(&j);
	for (uint32_t i = 0; !err && i < j.n_tasks; i++)
		total += view->tasks[j.tasks[i]].n_events;
	if (err) {
		trace_view_no_memory(view, diag);
	} else {
		progress_start(&j.progress, "recovering the trace", total, false);
		err = parallel_do(j.n_tasks, report_count_task, &j);
		progress_end(&j.progress);
		if (err)
			trace_view_task_failed(view, j.failed_task, err, diag);
		else if ((err = add_up(&j, out)))
			trace_view_no_memory(view, diag);
	}
	job_deinit(&j);
	return err;
}

void report_deinit(struct report *report)
{
	free_funcs(report->funcs, report->n_funcs);
	free(report->edges);
	free(report->slow);
	*report = (struct report){0};
}
