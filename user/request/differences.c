// SPDX-License-Identifier: LGPL-2.1-or-later
/* differences.c: see differences.h. Each worker has a tree of its own; they are added up at the
 * end. The span between two events of a request is the innermost call's: certainly from the one's
 * latest time to the other's earliest, possibly from earliest to latest. */
#include "user/request/differences.h"

#include "user/cli/parallel.h"
#include "user/cli/progress.h"

#include <errno.h>
#include <stdlib.h>

struct count_worker {
	struct request_tree tree;
	const struct request_list *list; /* of the thread that is walked */
	uint32_t at;			 /* the innermost call of the last event's request */
	uint64_t number;		 /* of that request */
	bool going;			 /* there is such an event, and its stack was not left */
	uint64_t last_from_ns, last_to_ns;
	bool failed;
};

struct count_job {
	struct trace_view *view;
	const struct requests *requests;
	struct count_worker *workers;
	struct progress progress;
	_Atomic uint32_t failed_task;
};

/* The class whose weights request @number adds to, or -1: neither. */
static int class_of(const struct count_worker *w, uint64_t number)
{
	unsigned class = number < w->list->n ? w->list->at[number].class : REQUEST_PART;
	return class < N_REQUEST_CLASSES ? (int)class : -1;
}

/* An event between @from_ns and @to_ns ends a span of the node @on. */
static void spend(struct count_worker *w, uint64_t number, int class, uint32_t on, uint64_t from_ns,
		  uint64_t to_ns)
{
	if (w->going && w->number == number) {
		struct request_node *node = &w->tree.nodes[on];
		struct time_bounds *self = &node->of[class].self;
		if (from_ns > w->last_to_ns)
			self->min_ns += from_ns - w->last_to_ns;
		uint64_t begin =
			w->last_from_ns > node->self_to_ns ? w->last_from_ns : node->self_to_ns;
		if (to_ns > begin) {
			self->max_ns += to_ns - begin;
			node->self_to_ns = to_ns;
		}
	}
	w->going = true;
	w->number = number;
	w->last_from_ns = from_ns;
	w->last_to_ns = to_ns;
}

static void on_enter(void *ctx, uint64_t number, const uint32_t *around, uint32_t id,
		     const struct call *call, uint32_t *note)
{
	struct count_worker *w = ctx;
	int class = class_of(w, number);
	*note = 0;
	if (class < 0 || w->failed)
		return;
	uint32_t node = request_tree_child(&w->tree, around ? *around : 0, id);
	if (!node) {
		w->failed = true;
		return;
	}
	*note = node;
	if (around)
		spend(w, number, class, *around, call->from_ns, call->to_ns);
	else
		w->going = false, spend(w, number, class, node, call->from_ns, call->to_ns);
	struct request_node *n = &w->tree.nodes[node];
	n->of[class].calls++;
	n->of[class].requests += n->counted != number + 1;
	n->counted = number + 1;
}

static void on_leave(void *ctx, uint64_t number, uint32_t note, const struct call *call,
		     uint64_t from_ns, uint64_t to_ns)
{
	struct count_worker *w = ctx;
	int class = class_of(w, number);
	if (class < 0 || !note || w->failed)
		return;
	spend(w, number, class, note, from_ns, to_ns);
	struct request_node *node = &w->tree.nodes[note];
	struct time_bounds *total = &node->of[class].total;
	if (from_ns > call->to_ns)
		total->min_ns += from_ns - call->to_ns;
	uint64_t begin = call->from_ns > node->total_to_ns ? call->from_ns : node->total_to_ns;
	if (to_ns > begin) {
		total->max_ns += to_ns - begin;
		node->total_to_ns = to_ns;
	}
}

static void on_block(void *ctx, uint64_t number, uint32_t note)
{
	struct count_worker *w = ctx;
	int class = class_of(w, number);
	if (class >= 0)
		w->tree.nodes[note].of[class].blocks++;
}

static void on_other_stack(void *ctx)
{
	struct count_worker *w = ctx;
	w->going = false;
}

static void on_end(void *ctx, uint64_t number, const struct request_end *end)
{
	struct count_worker *w = ctx;
	(void)number;
	(void)end;
	w->going = false;
}

static int count_in(void *ctx, uint32_t worker, uint32_t task)
{
	static const struct request_sink sink = {
		.enter = on_enter,
		.leave = on_leave,
		.block = on_block,
		.other_stack = on_other_stack,
		.end = on_end,
	};
	struct count_job *j = ctx;
	struct count_worker *w = &j->workers[worker];
	int err = 0;
	w->list = &j->requests->tasks[task];
	w->going = false;
	request_tree_next_thread(&w->tree);
	if (w->list->n)
		err = request_walk(j->view, &j->requests->of, task, &sink, w);
	progress_step(&j->progress, j->view->tasks[task].n_events);
	if (w->failed)
		err = -ENOMEM;
	if (err)
		j->failed_task = task;
	return err;
}

int request_differences(struct trace_view *view, const struct requests *requests,
			struct request_tree *out, struct pugmark_diag *diag)
{
	struct count_job j = {.view = view, .requests = requests};
	uint32_t n = parallel_workers(view->n_tasks);
	uint64_t total = 0;
	int err = request_tree_init(out);
	j.workers = calloc(n, sizeof(*j.workers));
	if (!j.workers)
		return trace_view_no_memory(view, diag);
	for (uint32_t i = 0; i < n && !err; i++)
		err = request_tree_init(&j.workers[i].tree);
	for (uint32_t i = 0; i < view->n_tasks; i++)
		total += view->tasks[i].n_events;
	if (!err) {
		progress_start(&j.progress, "comparing requests", total, false);
		err = parallel_do(view->n_tasks, count_in, &j);
		progress_end(&j.progress);
	}
	for (uint32_t i = 0; i < n && !err; i++)
		err = request_tree_add(out, &j.workers[i].tree);
	if (err)
		trace_view_task_failed(view, j.failed_task, err, diag);
	for (uint32_t i = 0; i < n; i++)
		request_tree_deinit(&j.workers[i].tree);
	free(j.workers);
	return err;
}
