// SPDX-License-Identifier: LGPL-2.1-or-later
/* report.c: counts calls and times, see report.h. Every function and import has a number, so that
 * counting is an index; each worker has counters of its own, which are added up at the end. */
#include "user/view/report.h"

#include "user/cli/parallel.h"
#include "user/cli/progress.h"
#include "user/view/calls.h"
#include "user/view/durations.h"
#include "user/view/slowest.h"

#include <errno.h>
#include <stdlib.h>

#define PROGRESS_EVERY 65536

/* Counters of a function in one worker. */
struct counter {
	uint64_t calls;
	struct time_bounds total, self;
	uint64_t covered_ns;		    /* the upper bound has the time up to here */
	uint64_t span;			    /* the last span that self's upper bound has */
	uint32_t open;			    /* activations */
	struct durations certain, possible; /* of each call: what it took at least and at most */
};

/* An open call. */
struct level {
	uint32_t id, edge;
	bool outermost, counted;
};

struct worker {
	struct report_job *job;
	struct counter *counters;
	struct report_edge *edges;
	uint64_t *edge_covered_ns;
	uint32_t *table; /* hash of edges: index + 1 */
	uint32_t n_edges, cap_edges, table_size;
	struct level *levels; /* the notes of the calls */
	struct calls calls;
	uint32_t top, left; /* id of the innermost open call; of the one that has just been left */
	uint64_t span, span_from_ns, span_to_ns;
	uint64_t gaps, witnesses;
	uint32_t task;
	struct slowest slow;
	struct time_bounds in_gaps;
	bool failed;
};

struct report_job {
	struct trace_view *view;
	const struct report_wish *wish;
	uint32_t *first_func;		  /* per module: number of its function 0 */
	uint32_t **import_id;		  /* per module, by place in its strings */
	uint32_t outside, unknown, start; /* numbers of what has no name */
	uint32_t n_ids;
	struct report_func *funcs;
	uint32_t *tasks, n_tasks;
	struct worker *workers;
	uint32_t n_workers;
	struct progress progress;
	_Atomic uint32_t failed_task;
};

/* ---- numbers ---- */

static uint32_t add_id(struct report_job *j, struct report_func func)
{
	j->funcs[j->n_ids] = func;
	return j->n_ids++;
}

static int number_module(struct report_job *j, uint32_t m)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(j->view->trace, m);
	j->first_func[m] = j->n_ids;
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		add_id(j, (struct report_func){.func = f, .module = (uint16_t)m});
	uint32_t *ids = calloc(plan->strings_bytes + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	j->import_id[m] = ids;
	for (uint32_t i = 0; i < plan->n_nodes; i++) {
		uint32_t import = plan->nodes[i].import;
		if (import && !ids[import])
			ids[import] = add_id(j, (struct report_func){
							.kind = REPORT_IMPORT,
							.module = (uint16_t)m,
							.func = PUGMARK_NONE,
							.import = plan->strings + import,
						});
	}
	return 0;
}

static int number_all(struct report_job *j)
{
	uint32_t n = j->view->n_modules, most = 3;
	for (uint32_t m = 0; m < n; m++) {
		const struct pugmark_plan *plan = pugmark_trace_plan(j->view->trace, m);
		most += plan->n_funcs + plan->n_nodes;
	}
	j->first_func = calloc(n + 1, sizeof(*j->first_func));
	j->import_id = calloc(n + 1, sizeof(*j->import_id));
	j->funcs = calloc(most, sizeof(*j->funcs));
	if (!j->first_func || !j->import_id || !j->funcs)
		return -ENOMEM;
	/* First, so that no import has the number 0. */
	j->start = add_id(j, (struct report_func){.kind = REPORT_START, .func = PUGMARK_NONE});
	j->outside = add_id(j, (struct report_func){.kind = REPORT_OUTSIDE, .func = PUGMARK_NONE});
	j->unknown = add_id(j, (struct report_func){.kind = REPORT_UNKNOWN, .func = PUGMARK_NONE});
	for (uint32_t m = 0; m < n; m++) {
		int err = number_module(j, m);
		if (err)
			return err;
	}
	return 0;
}

static uint32_t id_of(const struct report_job *j, const struct call *call)
{
	if (call->func != PUGMARK_NONE)
		return j->first_func[call->module] + call->func;
	if (!call->outside)
		return j->unknown;
	if (!*call->import)
		return j->outside;
	const struct pugmark_plan *plan = pugmark_trace_plan(j->view->trace, call->module);
	return j->import_id[call->module][call->import - plan->strings];
}

/* ---- edges ---- */

static uint64_t edge_hash(uint32_t caller, uint32_t callee)
{
	return (((uint64_t)caller << 32 | callee) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

static bool grow_edges(struct worker *w)
{
	uint32_t cap = w->cap_edges ? 2 * w->cap_edges : 1024, size = 2 * cap;
	struct report_edge *edges = realloc(w->edges, cap * sizeof(*edges));
	if (edges)
		w->edges = edges;
	uint64_t *covered = realloc(w->edge_covered_ns, cap * sizeof(*covered));
	if (covered)
		w->edge_covered_ns = covered;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!edges || !covered || !table) {
		free(table);
		w->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < w->n_edges; i++) {
		uint64_t h = edge_hash(edges[i].caller, edges[i].callee);
		while (table[h & (size - 1)])
			h++;
		table[h & (size - 1)] = i + 1;
	}
	free(w->table);
	w->table = table;
	w->table_size = size;
	w->cap_edges = cap;
	return true;
}

static uint32_t edge_between(struct worker *w, uint32_t caller, uint32_t callee)
{
	uint64_t h = edge_hash(caller, callee);
	if (w->n_edges == w->cap_edges && !grow_edges(w))
		return 0;
	for (uint32_t i; (i = w->table[h & (w->table_size - 1)]); h++)
		if (w->edges[i - 1].caller == caller && w->edges[i - 1].callee == callee)
			return i - 1;
	w->edges[w->n_edges] = (struct report_edge){.caller = caller, .callee = callee};
	w->edge_covered_ns[w->n_edges] = 0;
	w->table[h & (w->table_size - 1)] = w->n_edges + 1;
	return w->n_edges++;
}

/* ---- times ---- */

/* What lies outside of the time that is asked for counts as nothing. */
static uint64_t within(const struct worker *w, uint64_t ns)
{
	const struct trace_view *view = w->job->view;
	return ns < view->from_ns ? view->from_ns : ns > view->to_ns ? view->to_ns : ns;
}

/* Adds a stay between the bounds of its begin and its end, of which what lies before *@covered_ns
 * is in the upper bound already. */
static void add_stay(struct worker *w, struct time_bounds *t, uint64_t *covered_ns,
		     const struct call *call, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begin = within(w, call->to_ns);
	from_ns = within(w, from_ns);
	to_ns = within(w, to_ns);
	if (from_ns > begin)
		t->min_ns += from_ns - begin;
	begin = within(w, call->from_ns);
	if (begin < *covered_ns)
		begin = *covered_ns;
	if (to_ns > begin) {
		t->max_ns += to_ns - begin;
		*covered_ns = to_ns;
	}
}

/* The innermost call may have run in the current span. */
static void touch_top(struct worker *w)
{
	struct counter *c = &w->counters[w->top];
	if (c->span == w->span)
		return;
	c->span = w->span;
	c->self.max_ns += w->span_to_ns - w->span_from_ns;
}

/* Something happens between @from_ns and @to_ns: until @from_ns it was the innermost call alone
 * that ran. */
static void move_on(struct worker *w, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = within(w, from_ns);
	to_ns = within(w, to_ns);
	if (w->span && from_ns < w->span_to_ns) {
		/* inside of the span that is known, but for what reaches beyond it */
		if (to_ns <= w->span_to_ns)
			return;
		from_ns = w->span_to_ns;
	}
	if (w->span && from_ns > w->span_to_ns) {
		w->counters[w->top].self.min_ns += from_ns - w->span_to_ns;
		w->counters[w->top].self.max_ns += from_ns - w->span_to_ns;
	}
	w->span++;
	w->span_from_ns = from_ns;
	w->span_to_ns = to_ns;
	touch_top(w);
}

/* ---- durations ---- */

static bool is_shown(const struct worker *w, const struct call *call)
{
	return trace_view_has_module(w->job->view, call->module) &&
	       trace_view_match(w->job->view, call->module, call->func, call->import) ==
		       VIEW_MATCHES;
}

/* A call has ended between two times. */
static void note_duration(struct worker *w, const struct call *call, uint32_t id, enum call_end how,
			  uint64_t from_ns, uint64_t to_ns)
{
	struct report_slow slow = {
		.id = id,
		.task = w->task,
		.from_ns = call->from_ns,
		.to_ns = call->to_ns,
		.took = {from_ns > call->to_ns ? from_ns - call->to_ns : 0, to_ns - call->from_ns},
		.open = how == CALL_OPEN,
	};
	struct counter *c = &w->counters[id];
	if (how != CALL_OPEN && how != CALL_GIVEN_UP &&
	    (durations_add(&c->certain, slow.took.min_ns) ||
	     durations_add(&c->possible, slow.took.max_ns)))
		w->failed = true;
	if (w->job->wish->slowest && slow.took.max_ns >= w->job->wish->longer_ns &&
	    how != CALL_GIVEN_UP && is_shown(w, call))
		slowest_keep(&w->slow, &slow);
}

/* ---- calls ---- */

static void on_enter(void *ctx, const struct call *stack, uint32_t at)
{
	struct worker *w = ctx;
	const struct call *call = &stack[at];
	w->levels = w->calls.notes;
	uint32_t id = id_of(w->job, call);
	uint32_t caller = call->how == PUGMARK_TRACE_TAIL ? w->left
			  : at				  ? w->levels[at - 1].id
							  : w->job->start;
	struct counter *c = &w->counters[id];
	struct level *l = &w->levels[at];
	*l = (struct level){.id = id, .outermost = !c->open++};
	l->edge = edge_between(w, caller, id);
	if (w->failed)
		return;
	/* What was found open after a gap was called before. */
	bool counts = call->how != PUGMARK_TRACE_GAP && call->to_ns >= w->job->view->from_ns &&
		      call->from_ns <= w->job->view->to_ns;
	l->counted = counts;
	c->calls += counts;
	w->edges[l->edge].calls += counts;
	move_on(w, call->from_ns, call->to_ns);
	w->top = id;
	touch_top(w);
}

static void on_leave(void *ctx, const struct call *stack, uint32_t at, enum call_end how,
		     uint64_t from_ns, uint64_t to_ns)
{
	struct worker *w = ctx;
	if (w->failed)
		return;
	struct level *l = &w->levels[at];
	struct counter *c = &w->counters[l->id];
	c->open--;
	if (l->outermost) {
		add_stay(w, &c->total, &c->covered_ns, &stack[at], from_ns, to_ns);
		add_stay(w, &w->edges[l->edge].total, &w->edge_covered_ns[l->edge], &stack[at],
			 from_ns, to_ns);
	}
	if (l->counted && w->job->view->info->times)
		note_duration(w, &stack[at], l->id, how, from_ns, to_ns);
	move_on(w, from_ns, to_ns);
	w->left = l->id;
	w->top = at ? w->levels[at - 1].id : w->job->start;
	touch_top(w);
}

static void on_gap(void *ctx, const struct pugmark_trace_event *gap)
{
	struct worker *w = ctx;
	uint64_t from = within(w, gap->from_ns), to = within(w, gap->to_ns);
	if (!trace_view_has_time(w->job->view, gap))
		return;
	w->gaps++;
	w->in_gaps.max_ns += to > from ? to - from : 0;
}

static void on_left_stack(void *ctx, const struct pugmark_trace_event *e)
{
	struct worker *w = ctx;
	w->levels = w->calls.notes;
	move_on(w, e->from_ns, e->to_ns);
	w->top = w->calls.n ? w->levels[w->calls.n - 1].id : w->job->start;
	touch_top(w);
}

/* Threads run at the same time: what one has covered says nothing of another. */
static void begin_task(struct worker *w)
{
	for (uint32_t i = 0; i < w->job->n_ids; i++)
		w->counters[i].covered_ns = w->counters[i].span = 0;
	for (uint32_t i = 0; i < w->n_edges; i++)
		w->edge_covered_ns[i] = 0;
	w->span = 0;
	w->top = w->job->start;
}

static int count_task(void *ctx, uint32_t worker, uint32_t index)
{
	static const struct calls_sink sink = {
		.enter = on_enter,
		.leave = on_leave,
		.gap = on_gap,
		.left_stack = on_left_stack,
		.note_bytes = sizeof(struct level),
	};
	struct report_job *j = ctx;
	struct worker *w = &j->workers[worker];
	uint32_t task = j->tasks[index], n = 0;
	uint64_t told = 0;
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	int got = pugmark_trace_iter_new(j->view->trace, task, &it);
	if (got)
		return got;
	begin_task(w);
	w->task = task;
	uint64_t end_ns = j->view->tasks[task].last_ns;
	calls_init(&w->calls, &sink, w);
	while (!w->failed && (got = pugmark_trace_next(it, &e)) == 1) {
		if (e->from_ns > j->view->to_ns) {
			end_ns = e->to_ns;
			break;
		}
		got = calls_feed(&w->calls, e);
		if (got)
			break;
		if (++n == PROGRESS_EVERY) {
			uint64_t read = pugmark_trace_witnesses(it);
			progress_step(&j->progress, read - told);
			told = read;
			n = 0;
		}
	}
	if (!w->failed)
		calls_finish(&w->calls, end_ns);
	calls_deinit(&w->calls);
	w->witnesses += pugmark_trace_witnesses(it);
	pugmark_trace_iter_free(it);
	got = w->failed ? -ENOMEM : got;
	if (got < 0)
		j->failed_task = task;
	return got < 0 ? got : 0;
}

/* ---- the sum ---- */

static void add_times(struct time_bounds *to, struct time_bounds from)
{
	to->min_ns += from.min_ns;
	to->max_ns += from.max_ns;
}

/* The k-th of the lower bounds is a lower bound of the k-th duration, and so are the upper ones. */
static struct time_bounds quantile(const struct counter *c, double q)
{
	struct time_bounds t;
	uint64_t unused;
	durations_quantile(&c->certain, q, &t.min_ns, &unused);
	durations_quantile(&c->possible, q, &unused, &t.max_ns);
	return t;
}

static struct report_spread spread_of(const struct counter *c)
{
	return (struct report_spread){
		.calls = c->certain.n,
		.min = {c->certain.min_ns, c->possible.min_ns},
		.median = quantile(c, .5),
		.p99 = quantile(c, .99),
		.max = {c->certain.max_ns, c->possible.max_ns},
	};
}

static int add_up(struct report_job *j, struct report *out)
{
	struct worker *all = &j->workers[0];
	for (uint32_t k = 1; k < j->n_workers; k++) {
		const struct worker *w = &j->workers[k];
		for (uint32_t i = 0; i < j->n_ids; i++) {
			all->counters[i].calls += w->counters[i].calls;
			add_times(&all->counters[i].total, w->counters[i].total);
			add_times(&all->counters[i].self, w->counters[i].self);
			if (durations_merge(&all->counters[i].certain, &w->counters[i].certain) ||
			    durations_merge(&all->counters[i].possible, &w->counters[i].possible))
				return -ENOMEM;
		}
		slowest_merge(&all->slow, &w->slow);
		all->in_gaps.max_ns += w->in_gaps.max_ns;
		for (uint32_t i = 0; i < w->n_edges; i++) {
			uint32_t e = edge_between(all, w->edges[i].caller, w->edges[i].callee);
			if (all->failed)
				return -ENOMEM;
			all->edges[e].calls += w->edges[i].calls;
			add_times(&all->edges[e].total, w->edges[i].total);
		}
		all->gaps += w->gaps;
		all->witnesses += w->witnesses;
	}
	*out = (struct report){
		.gaps = all->gaps, .witnesses = all->witnesses, .in_gaps = all->in_gaps};
	for (uint32_t i = 0; i < j->n_ids; i++) {
		j->funcs[i].calls = all->counters[i].calls;
		j->funcs[i].total = all->counters[i].total;
		j->funcs[i].self = all->counters[i].self;
		j->funcs[i].spread = spread_of(&all->counters[i]);
		out->calls += all->counters[i].calls;
	}
	out->funcs = j->funcs;
	out->n_funcs = j->n_ids;
	out->edges = all->edges;
	out->n_edges = all->n_edges;
	slowest_sort(&all->slow);
	out->slow = all->slow.at;
	out->n_slow = all->slow.n;
	j->funcs = NULL;
	all->edges = NULL;
	all->slow.at = NULL;
	return 0;
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
		struct worker *w = &j->workers[j->n_workers];
		w->job = j;
		w->counters = calloc(j->n_ids + 1, sizeof(*w->counters));
		if (!w->counters || slowest_init(&w->slow, j->wish->slowest))
			return -ENOMEM;
	}
	return 0;
}

static void job_deinit(struct report_job *j)
{
	for (uint32_t i = 0; i < j->n_workers; i++) {
		struct worker *w = &j->workers[i];
		for (uint32_t c = 0; w->counters && c < j->n_ids; c++) {
			durations_deinit(&w->counters[c].certain);
			durations_deinit(&w->counters[c].possible);
		}
		void *heap[] = {w->counters, w->edges, w->edge_covered_ns, w->table, w->slow.at};
		for (size_t k = 0; k < sizeof(heap) / sizeof(*heap); k++)
			free(heap[k]);
	}
	for (uint32_t m = 0; j->import_id && m < j->view->n_modules; m++)
		free(j->import_id[m]);
	free(j->import_id);
	free(j->first_func);
	free(j->funcs);
	free(j->tasks);
	free(j->workers);
}

int report_collect(struct trace_view *view, const struct report_wish *wish, struct report *out,
		   struct pugmark_diag *diag)
{
	struct report_job j = {.view = view, .wish = wish};
	uint64_t total = 0;
	int err = number_all(&j);
	if (!err)
		err = make_workers(&j);
	for (uint32_t i = 0; !err && i < j.n_tasks; i++)
		total += view->tasks[j.tasks[i]].n_events;
	if (err) {
		trace_view_no_memory(view, diag);
	} else {
		progress_start(&j.progress, "recovering the trace", total, false);
		err = parallel_do(j.n_tasks, count_task, &j);
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
	free(report->funcs);
	free(report->edges);
	free(report->slow);
	*report = (struct report){0};
}
