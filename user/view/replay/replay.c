// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay.c: decides which calls are shown. A call is opened when something inside of it is shown.
 * So calls outside of the time that was asked for stay away, but not those around what is shown. */
#include "user/view/replay/replay.h"

#include "user/view/replay/replay_paths.h"
#include "user/view/trace/made_code.h"

#include <errno.h>
#include <stdlib.h>

const char *replay_call_name(struct replay *r, const struct call *call)
{
	if (!call->outside)
		return call->func == PUGMARK_NONE
			       ? "[unknown]"
			       : trace_view_func_name(&r->view, call->module, call->func);
	return *call->import ? trace_view_import_name(&r->view, call->module, call->import)
			     : "[outside]";
}

bool replay_put_arguments(struct replay *r, const struct call *call,
			  const struct replay_level *level, bool json)
{
	if (!level->values)
		return false;
	arguments_print(&r->arguments, call, level->values, json, r->out);
	return true;
}

/* The level below @level that is shown, or -1. */
static int64_t shown_around(const struct replay *r, uint32_t level)
{
	int64_t i = (int64_t)level - 1;
	while (i >= 0 && !r->levels[i].shown)
		i--;
	return i;
}

static void open_around(struct replay *r, uint32_t level)
{
	for (uint32_t i = 0; i < level; i++) {
		struct replay_level *l = &r->levels[i];
		if (!l->shown || l->printed)
			continue;
		l->printed = r->any = true;
		if (r->format->open)
			r->format->open(r, i);
	}
}

static bool passes(struct replay *r, const struct call *call, uint32_t level)
{
	uint8_t match = trace_view_match(&r->view, call->module, call->func, call->import);
	r->levels[level].left_out = !r->hidden && match & VIEW_LEFT_OUT;
	r->levels[level].matched =
		!r->root && match & VIEW_MATCHES &&
		(!r->choice.takes || r->choice.takes(r->choice.ctx, r->task, call));
	if (r->levels[level].left_out)
		r->hidden = level + 1;
	if (r->levels[level].matched)
		r->root = level + 1;
	return !r->hidden && r->root && trace_view_has_module(&r->view, call->module);
}

static void on_enter(void *ctx, const struct call *stack, uint32_t level)
{
	struct replay *r = ctx;
	r->levels = r->calls.notes;
	struct replay_level *l = &r->levels[level];
	*l = (struct replay_level){.inlined = SOURCE_NONE};
	l->shown = passes(r, &stack[level], level);
	int64_t around = shown_around(r, level);
	if (around >= 0)
		l->indent = r->levels[around].indent + 1 + replay_paths_depth(r, around);
	if (r->view.depth && l->indent >= r->view.depth)
		l->shown = false;
	if (!l->shown) {
		if (around >= 0)
			r->levels[around].hid = true;
		return;
	}
	l->n_made = around >= 0 ? r->levels[around].n_made : 0;
	l->made = r->made ? made_code_number(&r->view, r->task, stack[level].entered_from,
					     stack[level].to_ns)
			  : 0;
	l->n_made += !!l->made;
	r->last_id += !!l->made;
	l->id = ++r->last_id;
	if (stack[level].to_ns >= r->view.from_ns && !r->longer_ns)
		open_around(r, level);
}

/* Whether a call that ends is shown: one that has shown calls inside is, in any case. */
static bool is_long_enough(const struct replay *r, uint32_t level, const struct replay_end *end)
{
	return r->levels[level].printed || end->max_ns >= r->longer_ns;
}

static void leave(struct replay *r, const struct call *stack, uint32_t level, enum call_end how,
		  uint64_t from_ns, uint64_t to_ns)
{
	const struct call *call = &stack[level];
	if (r->failed)
		return;
	if (r->levels[level].shown && to_ns >= r->view.from_ns) {
		struct replay_end end = {
			.how = how,
			.from_ns = from_ns,
			.to_ns = to_ns,
			.min_ns = from_ns > call->to_ns ? from_ns - call->to_ns : 0,
			.max_ns = to_ns > call->from_ns ? to_ns - call->from_ns : 0,
		};
		if (is_long_enough(r, level, &end)) {
			open_around(r, level);
			replay_paths_leave(r, level);
			r->any = true;
			r->format->close(r, level, &end, !r->levels[level].printed);
		}
	}
	if (how == CALL_JUMPED)
		return; /* what it jumped to is inside of the same tree */
	if (r->root == level + 1)
		r->root = 0;
	if (r->hidden == level + 1)
		r->hidden = 0;
}

static void on_leave(void *ctx, const struct call *stack, uint32_t level, enum call_end how,
		     uint64_t from_ns, uint64_t to_ns)
{
	struct replay *r = ctx;
	leave(r, stack, level, how, from_ns, to_ns);
	free(r->levels[level].values);
	r->levels[level].values = NULL;
}

static void on_gap(void *ctx, const struct pugmark_trace_event *gap)
{
	struct replay *r = ctx;
	if (r->failed || !trace_view_has_time(&r->view, gap))
		return;
	open_around(r, r->calls.n);
	r->gaps++;
	r->format->gap(r, gap);
}

static void on_block(void *ctx, const struct call *stack, uint32_t level,
		     const struct pugmark_trace_event *e)
{
	struct replay *r = ctx;
	(void)stack;
	if (r->failed || !r->paths || !r->levels[level].shown || e->to_ns < r->view.from_ns)
		return;
	open_around(r, level + 1);
	replay_paths_block(r, level, e);
}

/* Shows what is open before the tree of another stack begins. */
static void on_leaves_stack(void *ctx, const struct pugmark_trace_event *e)
{
	struct replay *r = ctx;
	if (e->to_ns >= r->view.from_ns)
		open_around(r, r->calls.n);
}

static void on_left_stack(void *ctx, const struct pugmark_trace_event *e)
{
	struct replay *r = ctx;
	r->levels = r->calls.notes;
	r->root = r->hidden = 0;
	for (uint32_t i = 0; i < r->calls.n; i++) {
		if (r->levels[i].matched)
			r->root = i + 1;
		if (r->levels[i].left_out)
			r->hidden = i + 1;
	}
	if (trace_view_has_time(&r->view, e))
		r->format->stack(r, e);
}

static int replay_task(struct replay *r, uint32_t task)
{
	static const struct calls_sink sink = {
		.enter = on_enter,
		.leave = on_leave,
		.gap = on_gap,
		.block = on_block,
		.leaves_stack = on_leaves_stack,
		.left_stack = on_left_stack,
		.note_bytes = sizeof(struct replay_level),
	};
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	int got = pugmark_trace_iter_new(r->view.trace, task, &it);
	if (got)
		return got;
	calls_init(&r->calls, &sink, r);
	arguments_begin(&r->arguments);
	r->root = r->hidden = 0;
	r->last_id = 0;
	r->past = false;
	r->task = task;
	r->format->thread(r, task);
	uint64_t end_ns = r->view.tasks[task].last_ns;
	while (!r->failed && !r->out->failed && (got = pugmark_trace_next(it, &e)) == 1) {
		if (e->from_ns > r->view.to_ns) {
			r->past = true;
			end_ns = e->to_ns;
			break;
		}
		got = calls_feed(&r->calls, e);
		r->levels = r->calls.notes;
		if (!got)
			got = arguments_feed(&r->arguments, e,
					     r->calls.n ? &r->levels[r->calls.n - 1].values : NULL);
		if (got)
			break;
	}
	calls_finish(&r->calls, end_ns);
	r->format->thread_end(r, task);
	calls_deinit(&r->calls);
	r->levels = NULL;
	pugmark_trace_iter_free(it);
	return r->failed ? -ENOMEM : got < 0 ? got : 0;
}

int replay_show(struct replay *r, struct pugmark_diag *diag)
{
	int err = 0;
	arguments_open(&r->view, &r->arguments);
	r->format->begin(r);
	for (uint32_t i = 0; i < r->view.n_tasks && !err && !r->out->failed; i++)
		if (trace_view_has_task(&r->view, i)) {
			err = replay_task(r, i);
			if (err)
				trace_view_task_failed(&r->view, i, err, diag);
		}
	r->format->end(r);
	arguments_close(&r->arguments);
	return err;
}
