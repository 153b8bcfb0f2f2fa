// SPDX-License-Identifier: LGPL-2.1-or-later
/* chrome.c: the JSON trace event format, as chrome://tracing, Perfetto and speedscope read it. Each
 * call is a B and an E event of its thread; a stack that a thread switched to is a thread beside
 * it, and so is each goroutine (--by goroutine). Times are in microseconds with a fraction; where
 * they are bounds, args say `earliest` and `latest` in ns, and of the end `end_earliest` and
 * `end_latest`. They are the E event's, which viewers show of the whole call: speedscope takes a
 * name with other args for another function. Gaps are async events, since they need not nest with
 * calls. */
#include "user/export/export.h"

struct chrome {
	bool comma;
	int32_t pid, tid;
};

/* Threads from these numbers on are stacks that others switched to, and goroutines. */
#define STACK_TID 1000000000
#define GOROUTINE_TID 1500000000

static int32_t tid_of(const struct export *x, const struct export_track *track)
{
	if (trace_view_goroutine(&x->replay.view, track->task))
		return GOROUTINE_TID + (int32_t)track->task;
	return track->stack ? STACK_TID + (int32_t)track->number : export_task(x, track->task)->tid;
}

static void next(struct export *x)
{
	struct chrome *s = x->state;
	outbuf_text(x->replay.out, s->comma ? ",\n" : "\n");
	s->comma = true;
}

/* ns as microseconds. */
static void put_us(struct outbuf *out, uint64_t ns)
{
	outbuf_dec(out, ns / 1000);
	if (ns % 1000) {
		char fraction[5] = {'.', '0' + ns / 100 % 10, '0' + ns / 10 % 10, '0' + ns % 10};
		outbuf_text(out, fraction);
	}
}

static void put_where(struct export *x, uint64_t at_ns)
{
	struct chrome *s = x->state;
	struct outbuf *out = x->replay.out;
	outbuf_text(out, ",\"pid\":");
	outbuf_dec(out, (uint64_t)s->pid);
	outbuf_text(out, ",\"tid\":");
	outbuf_dec(out, (uint64_t)s->tid);
	outbuf_text(out, ",\"ts\":");
	put_us(out, at_ns);
}

static void begin(struct export *x)
{
	outbuf_text(x->replay.out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

static void put_metadata(struct export *x, const char *what, const char *name)
{
	struct outbuf *out = x->replay.out;
	next(x);
	outbuf_text(out, "{\"ph\":\"M\",\"name\":\"");
	outbuf_text(out, what);
	outbuf_char(out, '"');
	put_where(x, 0);
	outbuf_json(out, ",\"args\":{\"name\":", name);
	outbuf_text(out, "}}");
}

static void track(struct export *x, const struct export_track *track)
{
	struct chrome *s = x->state;
	const struct pugmark_recording_task *task = export_task(x, track->task);
	s->pid = task->pid;
	s->tid = tid_of(x, track);
	char name[EXPORT_TRACK_BYTES];
	export_track_name(x, track, name, sizeof(name));
	put_metadata(x, "thread_name", name);
	if (task->tid == task->pid && s->tid == task->tid) {
		export_comm(task, name);
		put_metadata(x, "process_name", name);
	}
}

static void settle_track(struct export *x)
{
	struct chrome *s = x->state;
	const struct pugmark_recording_task *task = export_task(x, x->on->task);
	s->pid = task->pid;
	s->tid = tid_of(x, x->on);
}

static void call(struct export *x, const struct export_call *call)
{
	struct outbuf *out = x->replay.out;
	const struct export_frame *frame = &x->frames.at[call->frame];
	settle_track(x);
	next(x);
	outbuf_json(out, "{\"ph\":\"B\",\"name\":", frame->name);
	outbuf_json(out, ",\"cat\":", *frame->module ? frame->module : "outside");
	put_where(x, call->at_ns);
	if (call->again)
		outbuf_text(out, ",\"args\":{\"began\":\"before\"}");
	outbuf_char(out, '}');
}

/* The next argument's name and `:`, in the braces that the first one opens. */
static void put_key(struct outbuf *out, const char *name, bool *any)
{
	outbuf_text(out, *any ? ",\"" : ",\"args\":{\"");
	outbuf_text(out, name);
	outbuf_text(out, "\":");
	*any = true;
}

static void put_number(struct outbuf *out, const char *name, uint64_t value, bool *any)
{
	put_key(out, name, any);
	outbuf_dec(out, value);
}

static void put_word(struct outbuf *out, const char *name, const char *word, bool *any)
{
	put_key(out, name, any);
	outbuf_char(out, '"');
	outbuf_text(out, word);
	outbuf_char(out, '"');
}

static void put_args(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct outbuf *out = x->replay.out;
	const struct export_time begin = call->begin, over = end->end;
	const char *word = export_end_word(end->how);
	bool any = false;
	if (x->times && begin.earliest_ns != begin.latest_ns) {
		put_number(out, "earliest", begin.earliest_ns, &any);
		put_number(out, "latest", begin.latest_ns, &any);
	}
	if (x->times && over.earliest_ns != over.latest_ns) {
		put_number(out, "end_earliest", over.earliest_ns, &any);
		put_number(out, "end_latest", over.latest_ns, &any);
	}
	if (call->how == PUGMARK_TRACE_ENTER)
		put_word(out, "cause", trace_view_cause(call->cause), &any);
	if (*word)
		put_word(out, "end", word, &any);
	if (any)
		outbuf_char(out, '}');
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct outbuf *out = x->replay.out;
	settle_track(x);
	next(x);
	outbuf_json(out, "{\"ph\":\"E\",\"name\":", x->frames.at[call->frame].name);
	put_where(x, end->at_ns);
	put_args(x, call, end);
	outbuf_char(out, '}');
}

static void put_gap(struct export *x, const struct export_gap *gap, char phase, uint64_t at_ns)
{
	struct outbuf *out = x->replay.out;
	next(x);
	outbuf_text(out, "{\"ph\":\"");
	outbuf_char(out, phase);
	outbuf_text(out, "\",\"name\":\"gap: ");
	outbuf_text(out, trace_view_cause(gap->cause));
	outbuf_text(out, "\",\"cat\":\"gap\",\"id\":");
	outbuf_dec(out, x->gaps);
	put_where(x, at_ns);
	outbuf_text(out, ",\"args\":{\"lost\":");
	outbuf_dec(out, gap->lost);
	outbuf_text(out, "}}");
}

static void gap(struct export *x, const struct export_gap *gap)
{
	bool lasts = x->times && gap->span.latest_ns > gap->at_ns;
	settle_track(x);
	put_gap(x, gap, 'b', gap->at_ns);
	put_gap(x, gap, 'e', lasts ? gap->span.latest_ns : gap->at_ns);
}

static void end(struct export *x)
{
	outbuf_text(x->replay.out, "\n]}\n");
}

const struct export_format export_chrome = {
	.name = "chrome",
	.suffix = "json",
	.brief = "JSON trace events (chrome://tracing, Perfetto, speedscope)",
	.state_bytes = sizeof(struct chrome),
	.apart = true,
	.begin = begin,
	.track = track,
	.call = call,
	.ret = ret,
	.gap = gap,
	.end = end,
};
