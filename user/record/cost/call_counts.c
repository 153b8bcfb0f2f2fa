// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_counts.c: see call_counts.h. */
#include "user/record/cost/call_counts.h"

#include <pugmark/trace.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define BYTES_MAX (8 << 20)
enum { DEPTH_MAX = 1 << 16, CAP_MIN = 1024 };

struct counter {
	const struct recorder_options *now;
	const uint32_t *first;
	struct call_counts *counts;
	uint32_t n_before; /* modules of the recording that were probed before */
	uint32_t *open;	   /* functions by depth, DEPTH_MAX; heap */
};

void call_counts_deinit(struct call_counts *counts)
{
	free(counts->at);
	*counts = (struct call_counts){0};
}

/* Where the calls of @callee by @caller are counted, or a place for them. */
static struct call_count *slot_of(const struct call_counts *c, uint32_t caller, uint32_t callee)
{
	uint32_t i = (caller * 2654435761u ^ callee * 2246822519u) & (c->cap - 1);
	while (c->at[i].n && (c->at[i].caller != caller || c->at[i].callee != callee))
		i = (i + 1) & (c->cap - 1);
	return &c->at[i];
}

static int grow(struct call_counts *c)
{
	struct call_counts bigger = {.cap = c->cap ? 2 * c->cap : CAP_MIN, .n = c->n};
	bigger.at = calloc(bigger.cap, sizeof(*bigger.at));
	if (!bigger.at)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->cap; i++)
		if (c->at[i].n)
			*slot_of(&bigger, c->at[i].caller, c->at[i].callee) = c->at[i];
	free(c->at);
	*c = bigger;
	return 0;
}

static int add_call(struct call_counts *c, uint32_t caller, uint32_t callee)
{
	int err = 2 * c->n >= c->cap ? grow(c) : 0;
	if (err)
		return err;
	struct call_count *slot = slot_of(c, caller, callee);
	if (!slot->n++) {
		slot->caller = caller;
		slot->callee = callee;
		c->n++;
	}
	return 0;
}

/* @func of @module of the recording in the list of those that are traced now, or PUGMARK_NONE. */
static uint32_t listed(const struct counter *c, uint32_t module, uint32_t func)
{
	uint32_t m = module - c->n_before;
	bool known = m < c->now->n_modules && func < c->now->modules[m].plan->n_funcs;
	return known ? c->first[m] + func : PUGMARK_NONE;
}

/* Notes that the frame at place @depth is open: of which function, and called by which. */
static int opened(struct counter *c, uint32_t depth, uint32_t caller, uint32_t func)
{
	if (depth < DEPTH_MAX)
		c->open[depth] = func;
	return func == PUGMARK_NONE ? 0 : add_call(c->counts, caller, func);
}

static uint32_t open_at(const struct counter *c, uint32_t depth)
{
	return depth < DEPTH_MAX ? c->open[depth] : PUGMARK_NONE;
}

static int count(struct counter *c, const struct pugmark_trace_event *e)
{
	uint32_t callee = e->target ? listed(c, e->target_module, e->func) : PUGMARK_NONE;
	switch (e->kind) {
	case PUGMARK_TRACE_CALL:
		return opened(c, e->depth, open_at(c, e->depth - 1), callee);
	case PUGMARK_TRACE_TAIL:
		return opened(c, e->depth - 1, open_at(c, e->depth - 1), callee);
	case PUGMARK_TRACE_ENTER:
		return opened(c, e->depth, PUGMARK_NONE, listed(c, e->module, e->func));
	default:
		return 0;
	}
}

static int count_task(struct counter *c, const struct pugmark_trace *trace, uint32_t task)
{
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	for (uint32_t i = 0; i < DEPTH_MAX; i++)
		c->open[i] = PUGMARK_NONE;
	int got = pugmark_trace_iter_new(trace, task, &it);
	if (got)
		return got;
	int err = 0;
	while (!err && (got = pugmark_trace_next(it, &e)) == 1)
		err = count(c, e);
	pugmark_trace_iter_free(it);
	return err ? err : got;
}

int call_counts_read(const struct recorder_options *now, const uint32_t *first,
		     struct call_counts *out)
{
	struct counter c = {.now = now, .first = first, .counts = out};
	struct pugmark_trace *trace;
	char path[PATH_MAX];
	struct stat st;
	uint32_t n;
	snprintf(path, sizeof(path), "%s/events", now->output);
	if (stat(path, &st))
		return -errno;
	if (st.st_size > BYTES_MAX)
		return -EFBIG;
	c.open = malloc(DEPTH_MAX * sizeof(*c.open));
	int err = c.open ? pugmark_trace_open(now->output, &trace, NULL) : -ENOMEM;
	if (err) {
		free(c.open);
		return err;
	}
	pugmark_recording_modules(pugmark_trace_recording(trace), &n);
	err = n < now->n_modules ? -ESTALE : 0; /* another recording has the name by now */
	c.n_before = n - now->n_modules;
	pugmark_recording_tasks(pugmark_trace_recording(trace), &n);
	for (uint32_t i = 0; !err && i < n; i++)
		err = count_task(&c, trace, i);
	pugmark_trace_free(trace);
	free(c.open);
	return err;
}
