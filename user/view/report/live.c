// SPDX-License-Identifier: LGPL-2.1-or-later
/* live.c: see live.h. Each thread has counters of its own while it lives, since its calls are open
 * from one look to the next; what it has counted is kept when it ends. */
#include "user/view/report/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	READ_AT_ONCE = 64, /* batches of a thread, before another one's turn */
	IDLE_LOOKS = 3,	   /* a recorder writes once a second or so: looks without an event mean
			      little, until there are as many */
};

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* @array with room for @to items of @size bytes, of which those from @from on are zero. */
static void *grown(void *array, uint32_t from, uint32_t to, size_t size, bool *failed)
{
	char *at = realloc(array, (to + 1ul) * size);
	if (!at) {
		*failed = true;
		return array;
	}
	memset(at + from * size, 0, (to - from + 1ul) * size);
	return at;
}

/* More modules have more functions. */
static int grow_ids(struct live *l)
{
	bool failed = func_ids_grow(&l->job.ids) != 0;
	uint32_t n = l->n_ids, to = l->job.ids.n;
	if (failed || to == n)
		return failed ? -ENOMEM : 0;
	l->took = grown(l->took, n, to, sizeof(*l->took), &failed);
	l->past = grown(l->past, n, to, sizeof(*l->past), &failed);
	l->now = grown(l->now, n, to, sizeof(*l->now), &failed);
	l->before = grown(l->before, n, to, sizeof(*l->before), &failed);
	for (uint32_t i = 0; i < l->n_tasks; i++) {
		struct report_worker *w = l->tasks[i].worker;
		if (w)
			w->counters = grown(w->counters, n, to, sizeof(*w->counters), &failed);
	}
	if (failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n_tasks; i++)
		if (l->tasks[i].worker)
			l->tasks[i].worker->took = l->took;
	l->n_ids = to;
	return 0;
}

static int grow_tasks(struct live *l)
{
	bool failed = false;
	l->tasks = grown(l->tasks, l->n_tasks, l->view->n_tasks, sizeof(*l->tasks), &failed);
	if (!failed)
		l->n_tasks = l->view->n_tasks;
	return failed ? -ENOMEM : 0;
}

int live_init(struct live *l, struct trace_view *view)
{
	*l = (struct live){
		.view = view, .more = true, .time_ns = view->start_ns, .wish.flat = true};
	l->job.view = view;
	l->job.wish = &l->wish;
	int err = func_ids_init(&l->job.ids, view);
	if (!err)
		err = grow_ids(l);
	return err ? err : grow_tasks(l);
}

static void free_worker(struct report_worker *w)
{
	free(w->counters);
	free(w->edges);
	free(w->edge_covered_ns);
	free(w->table);
	free(w);
}

void live_deinit(struct live *l)
{
	for (uint32_t i = 0; i < l->n_tasks; i++) {
		if (l->tasks[i].worker) {
			calls_deinit(&l->tasks[i].worker->calls);
			free_worker(l->tasks[i].worker);
		}
		pugmark_trace_iter_free(l->tasks[i].it);
	}
	report_took_deinit(l->took, l->n_ids);
	func_ids_deinit(&l->job.ids);
	void *heap[] = {l->tasks, l->took, l->past, l->now, l->before};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
	*l = (struct live){0};
}

int live_more(struct live *l, struct pugmark_diag *diag)
{
	int more = trace_view_more(l->view, diag);
	if (more < 0)
		return more;
	l->more = more;
	if (grow_ids(l) || grow_tasks(l))
		return trace_view_no_memory(l->view, diag);
	return 0;
}

/* Begins to read task @i. 0; -EAGAIN: its parent has to be read before; or -errno. */
static int begin(struct live *l, uint32_t i)
{
	struct live_task *t = &l->tasks[i];
	int err = pugmark_trace_iter_new(l->view->trace, i, &t->it);
	if (err)
		return err;
	struct report_worker *w = t->worker = calloc(1, sizeof(*w));
	if (w)
		w->counters = calloc(l->n_ids + 1ul, sizeof(*w->counters));
	if (!w || !w->counters)
		return -ENOMEM;
	w->job = &l->job;
	w->took = l->took;
	report_count_begin(w, i);
	return 0;
}

static void add_counts(const struct live *l, struct live_func *to, const struct report_worker *w)
{
	for (uint32_t f = 0; f < l->n_ids; f++) {
		to[f].calls += w->counters[f].calls;
		time_bounds_add(&to[f].self, w->counters[f].self);
	}
}

/* The task has ended: what it counted is kept. */
static void end(struct live *l, uint32_t i)
{
	struct live_task *t = &l->tasks[i];
	report_count_finish(t->worker, l->view->tasks[i].last_ns);
	add_counts(l, l->past, t->worker);
	l->past_gaps += t->worker->gaps;
	l->past_gaps_ns += t->worker->in_gaps.max_ns;
	l->past_witnesses += pugmark_trace_witnesses(t->it);
	free_worker(t->worker);
	pugmark_trace_iter_free(t->it);
	*t = (struct live_task){.ended = true};
}

/* Takes the next events of a task. 1, 0: there are none so far, or -errno. */
static int take_batch(struct live *l, struct live_task *t)
{
	const struct pugmark_trace_event *events;
	uint32_t n;
	int got = pugmark_trace_batch(t->it, &events, &n);
	for (uint32_t i = 0; got == 1 && i < n; i++) {
		int err = report_count_feed(t->worker, &events[i]);
		if (err)
			return err;
		if (events[i].to_ns > l->read_ns)
			l->read_ns = events[i].to_ns;
	}
	return got;
}

/* Reads some of task @i. Returns 1, 0: there was nothing to read, or -errno. */
static int read_some(struct live *l, uint32_t i)
{
	struct live_task *t = &l->tasks[i];
	unsigned n = 0;
	int got = 1;
	if (t->ended || !trace_view_has_task(l->view, i))
		return 0;
	int err = t->it ? 0 : begin(l, i);
	if (err)
		return err == -EAGAIN ? 0 : err;
	for (; n < READ_AT_ONCE && got == 1; n += got == 1)
		got = take_batch(l, t);
	if (!got && pugmark_trace_ended(t->it))
		end(l, i);
	return got < 0 ? got : n > 0;
}

int live_read(struct live *l, uint64_t until_ns, struct pugmark_diag *diag)
{
	uint32_t idle = 0; /* tasks in a row of which nothing is left */
	while (idle < l->n_tasks) {
		l->next = l->next < l->n_tasks ? l->next : 0;
		int some = read_some(l, l->next);
		if (some < 0)
			return trace_view_task_failed(l->view, l->next, some, diag);
		idle = some ? 0 : idle + 1;
		l->next++;
		if (some && now_ns() > until_ns)
			return 0;
	}
	return 1;
}

static void look(struct live *l)
{
	l->idle = 0;
	struct live_func *before = l->before;
	l->before = l->now;
	l->now = before;
	l->witnesses_before = l->witnesses;
	l->time_before_ns = l->time_ns;
	memcpy(l->now, l->past, l->n_ids * sizeof(*l->now));
	l->gaps = l->past_gaps;
	l->gaps_ns = l->past_gaps_ns;
	l->witnesses = l->past_witnesses;
	l->threads = l->waiting = l->shown = 0;
	for (uint32_t i = 0; i < l->n_tasks; i++) {
		const struct live_task *t = &l->tasks[i];
		bool is_shown = trace_view_has_task(l->view, i), counts = !t->ended && is_shown;
		l->shown += is_shown;
		l->threads += counts;
		l->waiting += counts && !t->it;
		if (!t->it)
			continue;
		add_counts(l, l->now, t->worker);
		l->gaps += t->worker->gaps;
		l->gaps_ns += t->worker->in_gaps.max_ns;
		l->witnesses += pugmark_trace_witnesses(t->it);
	}
	if (l->read_ns > l->time_ns)
		l->time_ns = l->read_ns;
}

void live_look(struct live *l)
{
	if (l->read_ns > l->time_ns || ++l->idle > IDLE_LOOKS)
		look(l);
}

void live_whole(struct live *l)
{
	look(l);
	memset(l->before, 0, l->n_ids * sizeof(*l->before));
	l->witnesses_before = 0;
	l->time_before_ns = l->view->start_ns;
}

void live_forget_durations(struct live *l)
{
	report_took_deinit(l->took, l->n_ids);
}

double live_seconds(const struct live *l)
{
	if (!l->view->info->times || l->time_ns <= l->time_before_ns)
		return 0;
	return (double)(l->time_ns - l->time_before_ns) / 1e9;
}
