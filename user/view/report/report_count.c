// SPDX-License-Identifier: LGPL-2.1-or-later
/* report_count.c: counts the calls and times of one thread, for the worker that reads it. */
#include "user/view/report/report_count.h"

#include "user/view/report/report_made.h"

#include <errno.h>
#include <stdlib.h>

#define PROGRESS_EVERY 65536

/* ---- edges ---- */

static uint64_t edge_hash(uint32_t caller, uint32_t callee)
{
	return (((uint64_t)caller << 32 | callee) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

static bool grow_edges(struct report_worker *w)
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

uint32_t report_edge_between(struct report_worker *w, uint32_t caller, uint32_t callee)
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

/* Cuts a moment to the time that was asked for. */
static uint64_t within(const struct report_worker *w, uint64_t ns)
{
	const struct trace_view *view = w->job->view;
	return ns < view->from_ns ? view->from_ns : ns > view->to_ns ? view->to_ns : ns;
}

/* Adds a stay, given the bounds of its begin and end, to @t. What lies before *@covered_ns is in
 * the upper bound already. */
static void add_stay(struct report_worker *w, struct time_bounds *t, uint64_t *covered_ns,
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

/* Notes that the innermost call may have run in the current span. */
static void touch_top(struct report_worker *w)
{
	struct report_counter *c = &w->counters[w->top];
	if (c->span == w->span)
		return;
	c->span = w->span;
	c->self.max_ns += w->span_to_ns - w->span_from_ns;
}

/* Moves to an event that happened between @from_ns and @to_ns: until @from_ns only the innermost
 * call ran. */
static void move_on(struct report_worker *w, uint64_t from_ns, uint64_t to_ns)
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

static bool is_shown(const struct report_worker *w, const struct call *call)
{
	return trace_view_has_module(w->job->view, call->module) &&
	       trace_view_match(w->job->view, call->module, call->func, call->import) ==
		       VIEW_MATCHES;
}

/* A call has ended between two times. */
static void note_duration(struct report_worker *w, const struct call *call, uint32_t id,
			  enum call_end how, uint64_t from_ns, uint64_t to_ns)
{
	struct report_slow slow = {
		.id = id,
		.task = w->task,
		.from_ns = call->from_ns,
		.to_ns = call->to_ns,
		.took = {from_ns > call->to_ns ? from_ns - call->to_ns : 0, to_ns - call->from_ns},
		.open = how == CALL_OPEN,
	};
	struct report_took *took = &w->took[id];
	if (how != CALL_OPEN && how != CALL_GIVEN_UP &&
	    (durations_add(&took->certain, slow.took.min_ns) ||
	     durations_add(&took->possible, slow.took.max_ns)))
		w->failed = true;
	if (w->job->wish->slowest && slow.took.max_ns >= w->job->wish->longer_ns &&
	    how != CALL_GIVEN_UP && is_shown(w, call))
		slowest_keep(&w->slow, &slow);
}

/* ---- calls ---- */

/* Adds a call to those between the same two witnesses. */
static void note_stretch(struct report_counter *c, const struct call *call)
{
	if (call->from_ns != c->stretch_ns)
		c->stretch = 0;
	c->stretch_ns = call->from_ns;
	c->stretch++;
	if (c->stretch > c->stretch_most)
		c->stretch_most = c->stretch;
}

static void on_enter(void *ctx, const struct call *stack, uint32_t at)
{
	struct report_worker *w = ctx;
	const struct call *call = &stack[at];
	w->levels = w->calls.notes;
	uint32_t id = func_ids_of(&w->job->ids, call);
	uint32_t caller = call->how == PUGMARK_TRACE_TAIL ? w->left
			  : at				  ? w->levels[at - 1].id
							  : w->job->ids.start;
	struct report_counter *c = &w->counters[id];
	struct level *l = &w->levels[at];
	*l = (struct level){.id = id, .outermost = !c->open++};
	if (!w->job->wish->flat) {
		uint32_t made = report_made_caller(w, call);
		l->edge = report_edge_between(w, made == PUGMARK_NONE ? caller : made, id);
	}
	if (w->failed)
		return;
	w->was_open |= call_was_open(call) && !at;
	bool counts = !call_was_open(call) && call->to_ns >= w->job->view->from_ns &&
		      call->from_ns <= w->job->view->to_ns;
	l->counted = counts;
	c->calls += counts;
	c->unsure += counts &&
		     (call->from_ns < w->job->view->from_ns || call->to_ns > w->job->view->to_ns);
	if (!w->job->wish->flat) {
		note_stretch(c, call);
		w->edges[l->edge].calls += counts;
	}
	move_on(w, call->from_ns, call->to_ns);
	w->top = id;
	touch_top(w);
}

static void on_leave(void *ctx, const struct call *stack, uint32_t at, enum call_end how,
		     uint64_t from_ns, uint64_t to_ns)
{
	struct report_worker *w = ctx;
	if (w->failed)
		return;
	struct level *l = &w->levels[at];
	struct report_counter *c = &w->counters[l->id];
	c->open--;
	if (l->outermost && !w->job->wish->flat) {
		add_stay(w, &c->total, &c->covered_ns, &stack[at], from_ns, to_ns);
		add_stay(w, &w->edges[l->edge].total, &w->edge_covered_ns[l->edge], &stack[at],
			 from_ns, to_ns);
	}
	if (l->counted && w->job->view->info->times)
		note_duration(w, &stack[at], l->id, how, from_ns, to_ns);
	move_on(w, from_ns, to_ns);
	w->left = l->id;
	w->top = at ? w->levels[at - 1].id : w->job->ids.start;
	touch_top(w);
}

static void on_gap(void *ctx, const struct pugmark_trace_event *gap)
{
	struct report_worker *w = ctx;
	uint64_t from = within(w, gap->from_ns), to = within(w, gap->to_ns);
	if (!trace_view_has_time(w->job->view, gap))
		return;
	w->gaps++;
	w->in_gaps.max_ns += to > from ? to - from : 0;
}

static void on_left_stack(void *ctx, const struct pugmark_trace_event *e)
{
	struct report_worker *w = ctx;
	w->levels = w->calls.notes;
	move_on(w, e->from_ns, e->to_ns);
	w->top = w->calls.n ? w->levels[w->calls.n - 1].id : w->job->ids.start;
	touch_top(w);
}

/* Forgets the thread before. Threads run at the same time, so the time that one has covered says
 * nothing of another. */
static void forget_task(struct report_worker *w)
{
	for (uint32_t i = 0; i < w->job->ids.n; i++)
		w->counters[i].covered_ns = w->counters[i].span = w->counters[i].stretch_ns =
			w->counters[i].stretch_most = 0;
	for (uint32_t i = 0; i < w->n_edges; i++)
		w->edge_covered_ns[i] = 0;
}

void report_count_begin(struct report_worker *w, uint32_t task)
{
	static const struct calls_sink sink = {
		.enter = on_enter,
		.leave = on_leave,
		.gap = on_gap,
		.left_stack = on_left_stack,
		.note_bytes = sizeof(struct level),
	};
	w->span = 0;
	w->was_open = false;
	w->top = w->job->ids.start;
	w->task = task;
	calls_init(&w->calls, &sink, w);
}

int report_count_feed(struct report_worker *w, const struct pugmark_trace_event *e)
{
	int err = calls_feed(&w->calls, e);
	return w->failed ? -ENOMEM : err;
}

/* A thread that ran before its first event, or goes on after its last one, may have called there
 * what it calls between any two witnesses. */
static void note_hidden(struct report_worker *w)
{
	uint64_t edges = w->was_open + (w->calls.n > 0);
	for (uint32_t i = 0; edges && i < w->job->ids.n; i++)
		w->counters[i].hidden += edges * w->counters[i].stretch_most;
}

void report_count_finish(struct report_worker *w, uint64_t end_ns)
{
	note_hidden(w);
	if (!w->failed)
		calls_finish(&w->calls, end_ns);
	calls_deinit(&w->calls);
}

/* The k-th of the lower bounds is a lower bound of the k-th duration, and so are the upper ones. */
struct time_bounds report_quantile(const struct report_took *took, double q)
{
	struct time_bounds t;
	uint64_t unused;
	durations_quantile(&took->certain, q, &t.min_ns, &unused);
	durations_quantile(&took->possible, q, &unused, &t.max_ns);
	return t;
}

void report_took_deinit(struct report_took *took, uint32_t n)
{
	for (uint32_t i = 0; took && i < n; i++) {
		durations_deinit(&took[i].certain);
		durations_deinit(&took[i].possible);
	}
}

int report_count_task(void *ctx, uint32_t worker, uint32_t index)
{
	struct report_job *j = ctx;
	struct report_worker *w = &j->workers[worker];
	uint32_t task = j->tasks[index], n = 0;
	uint64_t told = 0;
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	int got = pugmark_trace_iter_new(j->view->trace, task, &it);
	if (got)
		return got;
	forget_task(w);
	report_count_begin(w, task);
	uint64_t end_ns = j->view->tasks[task].last_ns;
	while (!w->failed && (got = pugmark_trace_next(it, &e)) == 1) {
		if (e->from_ns > j->view->to_ns) {
			end_ns = e->to_ns;
			break;
		}
		got = report_count_feed(w, e);
		if (got)
			break;
		if (++n == PROGRESS_EVERY) {
			uint64_t read = pugmark_trace_witnesses(it);
			progress_step(&j->progress, read - told);
			told = read;
			n = 0;
		}
	}
	report_count_finish(w, end_ns);
	w->witnesses += pugmark_trace_witnesses(it);
	pugmark_trace_iter_free(it);
	got = w->failed ? -ENOMEM : got;
	if (got < 0)
		j->failed_task = task;
	return got < 0 ? got : 0;
}
