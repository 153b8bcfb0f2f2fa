// SPDX-License-Identifier: LGPL-2.1-or-later
/* export.c: the driver. It turns the walk of replay.h into the stream that export.h describes, and
 * begins a new part where --split asks for it. */
#include "user/export/export.h"

#include "user/export/call_tree.h"
#include "user/export/output.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static struct export *export_of(struct replay *r)
{
	return (struct export *)r; /* its first member */
}

static struct export_time bounds(const struct export *x, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t start = x->replay.view.start_ns;
	return (struct export_time){from_ns > start ? from_ns - start : 0,
				    to_ns > start ? to_ns - start : 0};
}

/* Where the thread's next event is drawn. */
static uint64_t draw(struct export *x, struct export_time time)
{
	if (!x->times)
		return ++x->at_ns;
	x->at_ns += x->format->apart;
	if (time.earliest_ns > x->at_ns)
		x->at_ns = time.earliest_ns;
	return x->at_ns;
}

/* ---- parts ---- */

static void part_begin(struct export *x)
{
	export_output_keep(x);
	if (x->err)
		return;
	x->part++;
	export_output_name(x, x->part);
	memset(x->state, 0, x->format->state_bytes);
	if (!x->format->makes_path) {
		int fd = strcmp(x->output, "-") ? export_create(x) : STDOUT_FILENO;
		if (fd < 0)
			return;
		x->file = fd == STDOUT_FILENO ? stdout : fdopen(fd, "w");
		if (!x->file) {
			close(fd);
			export_fail(x, -ENOMEM, "out of memory");
			return;
		}
		outbuf_init(x->replay.out, x->file);
	}
	if (x->format->begin)
		x->format->begin(x);
}

static void part_end(struct export *x)
{
	if (!x->err && x->format->end)
		x->format->end(x);
	if (x->format->deinit)
		x->format->deinit(x);
	if (!x->file)
		return;
	errno = 0;
	bool whole = outbuf_flush(x->replay.out) && !fflush(x->file);
	if (x->file == stdout)
		whole = true; /* main() says so where it is not, as of all commands */
	else
		whole = !fclose(x->file) && whole;
	x->file = NULL;
	if (!whole)
		export_fail(x, errno ? -errno : -EIO, "cannot be written: %m");
}

/* ---- calls ---- */

static struct export_call call_at(struct export *x, uint32_t level)
{
	const struct replay *r = &x->replay;
	const struct call *call = &r->calls.stack[level];
	struct export_call c = {
		.id = x->first_id + r->levels[level].id,
		.begin = bounds(x, call->from_ns, call->to_ns),
		.site = call->site,
		.frame = export_frame_of(x, call),
		.level = r->levels[level].indent + r->levels[level].n_made,
		.how = call->how,
		.cause = call->cause,
	};
	if (r->levels[level].made)
		c.parent = c.id - 1;
	for (uint32_t i = level; i-- > 0 && !c.parent;)
		if (r->levels[i].shown)
			c.parent = x->first_id + r->levels[i].id;
	return c;
}

/* The code made at run time that has called @call, which is at @level: it was there meanwhile. */
static struct export_call made_around(struct export *x, struct export_call call, uint32_t level)
{
	const struct replay *r = &x->replay;
	call.id--;
	call.level--;
	call.site = call.parent = 0;
	call.arguments = NULL;
	call.frame = export_frame_of_made(x, r->levels[level].made);
	for (uint32_t i = level; i-- > 0 && !call.parent;)
		if (r->levels[i].shown)
			call.parent = x->first_id + r->levels[i].id;
	return call;
}

static void hand_one(struct export *x, const struct export_call *call)
{
	if (x->err)
		return;
	if (x->format->adds_up)
		export_contexts_enter(x, call);
	if (x->format->call)
		x->format->call(x, call);
}

/* The call at @level, after the code that was made at run time and has called it. */
static void hand_call(struct export *x, struct export_call *call, uint32_t level)
{
	if (x->replay.levels[level].made) {
		struct export_call made = made_around(x, *call, level);
		hand_one(x, &made);
		call->at_ns = x->at_ns += x->format->apart;
	}
	hand_one(x, call);
}

/* And the end of that code. Events of a thread may have to be apart. */
static void hand_made_end(struct export *x, const struct export_call *call, uint32_t level,
			  struct export_end end)
{
	if (!x->replay.levels[level].made || x->err)
		return;
	struct export_call made = made_around(x, *call, level);
	if (x->err)
		return;
	end.how = end.how == CALL_JUMPED ? CALL_RETURNED : end.how;
	end.at_ns = x->at_ns += x->format->apart;
	if (x->format->adds_up && !end.cut)
		export_contexts_leave(x, &end);
	if (x->format->ret)
		x->format->ret(x, &made, &end);
}

static struct export_track *find_track(struct export *x, uint32_t stack)
{
	for (uint32_t i = 0; i < x->tracks.n; i++)
		if (x->tracks.at[i].stack == stack)
			return &x->tracks.at[i];
	return NULL;
}

static void go_on_track(struct export *x, uint32_t task, uint32_t stack)
{
	x->on = find_track(x, stack);
	if (x->on)
		return;
	const struct export_track track = {.number = x->next_track, .task = task, .stack = stack};
	if (!VEC_PUSH(&x->tracks, track)) {
		export_fail(x, -ENOMEM, "out of memory");
		return;
	}
	x->next_track++;
	x->on = &x->tracks.at[x->tracks.n - 1];
}

/* The track's first event in this part is about to come: what is open on it, from @levels on down,
 * was begun in an earlier part. */
static void meet_track(struct export *x, uint32_t levels)
{
	if (x->err || x->on->part == x->part)
		return;
	bool again = x->on->part;
	x->on->part = x->part;
	if (x->format->track)
		x->format->track(x, x->on);
	for (uint32_t i = 0; again && i < levels; i++)
		if (x->replay.levels[i].printed) {
			struct export_call call = call_at(x, i);
			call.at_ns = x->at_ns;
			call.again = true;
			hand_call(x, &call, i);
		}
}

/* Begins another part where this one has become large enough. Calls below @levels are open. */
static void split_if_large(struct export *x, uint32_t levels)
{
	if (!x->split_bytes || !x->file || x->err)
		return;
	long at = ftell(x->file);
	uint64_t bytes = (at > 0 ? (uint64_t)at : 0) + (x->replay.out->at - x->replay.out->buf);
	if (bytes < x->split_bytes)
		return;
	x->at_ns += x->format->apart;
	struct export_end end = {.at_ns = x->at_ns, .how = CALL_OPEN, .cut = true};
	end.end = (struct export_time){x->at_ns, x->at_ns};
	for (uint32_t i = levels; i-- > 0 && x->on && x->on->part == x->part;)
		if (x->replay.levels[i].printed && x->format->ret) {
			struct export_call call = call_at(x, i);
			x->format->ret(x, &call, &end);
			hand_made_end(x, &call, i, end);
		}
	if (x->format->thread_end && x->on)
		x->format->thread_end(x, x->on->task);
	part_end(x);
	if (!x->err)
		part_begin(x);
}

static void begin_call(struct export *x, uint32_t level)
{
	split_if_large(x, level);
	if (x->err)
		return;
	meet_track(x, level);
	struct export_call call = call_at(x, level);
	call.at_ns = draw(x, call.begin);
	x->calls++;
	hand_call(x, &call, level);
}

/* ---- what the walk calls ---- */

static void on_begin(struct replay *r)
{
	part_begin(export_of(r));
}

static void on_thread(struct replay *r, uint32_t task)
{
	struct export *x = export_of(r);
	x->tracks.n = 0;
	x->at_ns = 0;
	if (!x->err)
		go_on_track(x, task, 0);
}

/* What the call at @level was made with, as JSON, which the caller frees. NULL: it is not known. */
static char *arguments_of(struct export *x, const struct call *call, uint32_t level)
{
	char *text = NULL;
	size_t len = 0;
	if (!x->format->says_arguments || !x->replay.levels[level].values)
		return NULL;
	struct outbuf *shown = x->replay.out, *out = malloc(sizeof(*out));
	FILE *file = out ? open_memstream(&text, &len) : NULL;
	if (file) {
		outbuf_init(out, file);
		x->replay.out = out;
		replay_put_arguments(&x->replay, call, &x->replay.levels[level], true);
		x->replay.out = shown;
		outbuf_flush(out);
		fclose(file);
	}
	free(out);
	if (!text)
		export_fail(x, -ENOMEM, "out of memory");
	return text;
}

static void on_open(struct replay *r, uint32_t level)
{
	begin_call(export_of(r), level);
}

static void on_close(struct replay *r, uint32_t level, const struct replay_end *how, bool leaf)
{
	struct export *x = export_of(r);
	if (leaf)
		begin_call(x, level);
	if (x->err)
		return;
	meet_track(x, level + 1);
	struct export_call call = call_at(x, level);
	struct export_end end = {.end = bounds(x, how->from_ns, how->to_ns), .how = how->how};
	end.at_ns = draw(x, end.end);
	if (x->format->adds_up)
		export_contexts_leave(x, &end);
	char *arguments = arguments_of(x, &r->calls.stack[level], level);
	call.arguments = arguments;
	if (x->format->ret)
		x->format->ret(x, &call, &end);
	hand_made_end(x, &call, level, end);
	free(arguments);
}

static void on_gap(struct replay *r, const struct pugmark_trace_event *e)
{
	struct export *x = export_of(r);
	if (x->err)
		return;
	meet_track(x, r->calls.n);
	struct export_gap gap = {
		.span = bounds(x, e->from_ns, e->to_ns), .lost = e->lost, .cause = e->cause};
	gap.at_ns = draw(x, gap.span);
	x->gaps++;
	if (x->format->adds_up)
		export_contexts_gap(x, &gap);
	if (x->format->gap)
		x->format->gap(x, &gap);
}

static void on_stack(struct replay *r, const struct pugmark_trace_event *event)
{
	struct export *x = export_of(r);
	(void)event;
	if (x->err)
		return;
	go_on_track(x, x->on->task, r->calls.stacks.on);
	if (x->format->adds_up && !x->err)
		export_contexts_switch(x, r->calls.stacks.on);
}

static void on_thread_end(struct replay *r, uint32_t task)
{
	struct export *x = export_of(r);
	x->first_id += r->last_id;
	if (x->err)
		return;
	if (x->format->adds_up)
		export_contexts_thread_end(x);
	if (x->format->thread_end)
		x->format->thread_end(x, task);
}

static void on_end(struct replay *r)
{
	part_end(export_of(r));
}

/* ---- all of it ---- */

/* The last time at which anything that is shown can have happened. */
static uint64_t last_of(const struct trace_view *view)
{
	uint64_t last_ns = 0;
	for (uint32_t i = 0; i < view->n_tasks; i++)
		if (trace_view_has_task(view, i) && view->tasks[i].last_ns > last_ns)
			last_ns = view->tasks[i].last_ns;
	return last_ns < view->to_ns ? last_ns : view->to_ns;
}

/* One walk for each span of the time: a part has the calls of all threads that go on in it. */
static int run_spans(struct export *x, struct pugmark_diag *diag)
{
	struct trace_view *view = &x->replay.view;
	uint64_t last_ns = last_of(view), to_ns = view->to_ns;
	uint64_t at = view->from_ns > view->start_ns ? view->from_ns : view->start_ns;
	int err = 0;
	view->timed = true;
	for (; !err && !x->err; at += x->split_ns) {
		bool is_last = last_ns - at <= x->split_ns || at > last_ns;
		view->from_ns = at;
		view->to_ns = is_last ? to_ns : at + x->split_ns - 1;
		x->first_id = x->next_track = 0;
		if (x->format->adds_up) {
			export_contexts_free(x->contexts);
			x->contexts = NULL;
			if (export_contexts_new(x))
				return trace_view_no_memory(view, diag);
		}
		err = replay_show(&x->replay, diag);
		if (is_last)
			break;
	}
	return err;
}

int export_run(struct export *x, struct pugmark_diag *diag)
{
	static const struct replay_format walk = {
		.name = "export",
		.begin = on_begin,
		.thread = on_thread,
		.open = on_open,
		.close = on_close,
		.gap = on_gap,
		.stack = on_stack,
		.thread_end = on_thread_end,
		.end = on_end,
	};
	struct replay *r = &x->replay;
	x->diag = diag;
	x->times = r->view.info->times;
	x->state = calloc(1, x->format->state_bytes + 1);
	r->format = &walk;
	r->all = r->made = true;
	if (!x->state || (x->format->adds_up && export_contexts_new(x)))
		return trace_view_no_memory(&r->view, diag);
	struct pugmark_diag walking = {.offset = PUGMARK_NO_OFFSET};
	int err = x->split_ns ? run_spans(x, &walking) : replay_show(r, &walking);
	if (!x->err && err)
		*diag = walking;
	if (!err)
		export_output_keep(x);
	err = x->err ? x->err : err;
	if (err)
		export_output_remove(x);
	return err;
}

void export_deinit(struct export *x)
{
	export_frames_deinit(x);
	export_contexts_free(x->contexts);
	VEC_FREE(&x->tracks);
	free(x->state);
}
