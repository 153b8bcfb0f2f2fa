// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_lanes.c: see encode_lanes.h. Without times one lane is read after the other. */
#include "user/encode/encode_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

bool encode_has_lanes(const struct encode *e)
{
	return !e->instead && (e->selection == SELECT_OBJECT || e->merge);
}

/* ---- the calls on a class, all threads in one sequence ---- */

static int merged_begin(void *ctx, const struct tree_place *place)
{
	struct encode *e = ((struct encode_lane *)ctx)->e;
	struct tree_place all = *place;
	if (e->merged)
		return 0;
	all.tid = all.pid = 0;
	all.thread = "all threads";
	uint32_t index;
	int err = encode_sequence_begin(e, &all, NULL, &index);
	e->merged = index + 1;
	return err;
}

static int merged_open(void *ctx, const struct tree_call *call)
{
	struct encode *e = ((struct encode_lane *)ctx)->e;
	if (!e->merged) { /* it ended at a gap of another thread */
		const struct tree_place place = {.why = EDGE_GAP};
		int err = merged_begin(ctx, &place);
		if (err)
			return err;
	}
	return encode_sequence_put(e, e->merged - 1, &call->symbol, 1);
}

static int merged_close(void *ctx, const struct tree_return *ret)
{
	(void)ctx, (void)ret;
	return 0;
}

static int end_merged(struct encode *e, enum tree_edge why)
{
	int err = e->merged ? encode_sequence_end(e, e->merged - 1, why) : 0;
	e->merged = 0;
	return err;
}

static int merged_end(void *ctx, enum tree_edge why)
{
	return why == EDGE_THREAD ? 0 : end_merged(((struct encode_lane *)ctx)->e, why);
}

static const struct tree_sink merged_sink = {NULL,	   merged_begin, merged_open,
					     merged_close, merged_end,	 NULL};

/* ---- lanes ---- */

static int lane_open(struct encode *e, struct encode_lane *l, uint32_t task)
{
	const struct pugmark_recording_task *t = &e->view.tasks[task];
	const struct tree_place place = {
		.task = task, .tid = t->tid, .pid = t->pid, .thread = t->comm};
	l->e = e;
	l->task = task;
	l->sink = e->selection == SELECT_OBJECT ? encode_object_sink : merged_sink;
	l->sink.ctx = l;
	int err = encode_pipe_new(e, &l->sink, &l->filter, &l->walk);
	if (!err)
		err = pugmark_trace_iter_new(e->view.trace, task, &l->it);
	return err ? err : tree_walk_begin(l->walk, &place);
}

static void lane_close(struct encode_lane *l)
{
	struct encode *e = l->e;
	if (l->walk) {
		e->events += tree_walk_events(l->walk);
		e->gaps += tree_walk_gaps(l->walk);
		e->passed += filter_passed(l->filter);
	}
	pugmark_trace_iter_free(l->it);
	tree_walk_free(l->walk);
	filter_free(l->filter);
}

/* The next event of the lane into l->event; its end where there is none. */
static int lane_step(struct encode_lane *l)
{
	l->event = NULL;
	int got = pugmark_trace_next(l->it, &l->event);
	if (got == 1)
		return 0;
	l->event = NULL;
	l->e->lane = l;
	return got < 0 ? got : tree_walk_end(l->walk);
}

/* The lanes that have an event, as a heap by time; of equal times the lower task is first. */
struct lane_heap {
	struct encode_lane **at;
	uint32_t n;
	bool by_time;
};

static bool is_before(const struct lane_heap *h, const struct encode_lane *a,
		      const struct encode_lane *b)
{
	if (h->by_time && a->event->to_ns != b->event->to_ns)
		return a->event->to_ns < b->event->to_ns;
	return a->task < b->task;
}

static void sift_down(struct lane_heap *h, uint32_t i)
{
	for (;;) {
		uint32_t least = i;
		for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < h->n; k++)
			if (is_before(h, h->at[k], h->at[least]))
				least = k;
		if (least == i)
			return;
		struct encode_lane *swap = h->at[i];
		h->at[i] = h->at[least];
		h->at[least] = swap;
		i = least;
	}
}

static int read_heap(struct encode *e, struct lane_heap *h, struct pugmark_diag *diag)
{
	uint64_t seen = 0;
	for (uint32_t i = h->n; i-- > 0;)
		sift_down(h, i);
	while (h->n && !(e->out && e->out->failed)) {
		struct encode_lane *l = h->at[0];
		uint64_t before = pugmark_trace_witnesses(l->it);
		e->lane = l;
		int err = tree_walk_event(l->walk, l->event);
		if (!err)
			err = lane_step(l);
		if (err)
			return trace_view_task_failed(&e->view, l->task, err, diag);
		e->told += pugmark_trace_witnesses(l->it) - before;
		if (!(++seen & 0xffff)) {
			progress_step(&e->progress, e->told);
			e->told = 0;
		}
		if (!l->event)
			h->at[0] = h->at[--h->n];
		sift_down(h, 0);
	}
	return 0;
}

int encode_lanes_read(struct encode *e, struct pugmark_diag *diag)
{
	uint32_t n_tasks = e->view.n_tasks, n = 0;
	struct encode_lane *lanes = calloc(n_tasks + 1, sizeof(*lanes));
	struct lane_heap heap = {.at = calloc(n_tasks + 1, sizeof(*heap.at)),
				 .by_time = e->view.info->times};
	int err = lanes && heap.at ? 0 : trace_view_no_memory(&e->view, diag);
	for (uint32_t task = 0; task < n_tasks && !err; task++) {
		if (!trace_view_has_task(&e->view, task))
			continue;
		err = lane_open(e, &lanes[n++], task);
		if (!err)
			err = lane_step(&lanes[n - 1]);
		if (err)
			trace_view_task_failed(&e->view, task, err, diag);
		else if (lanes[n - 1].event)
			heap.at[heap.n++] = &lanes[n - 1];
	}
	if (!err)
		err = read_heap(e, &heap, diag);
	if (!err && !(e->out && e->out->failed))
		err = e->merge ? end_merged(e, EDGE_THREAD) : encode_objects_end(e, EDGE_THREAD);
	e->lane = NULL;
	for (uint32_t i = 0; i < n; i++)
		lane_close(&lanes[i]);
	free(lanes);
	free(heap.at);
	return err;
}
