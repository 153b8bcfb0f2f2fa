// SPDX-License-Identifier: LGPL-2.1-or-later
/* chrome.c: the JSON trace event format, as chrome://tracing, Perfetto and speedscope read it. Each
 * call is a B and an E event of its thread; a stack that a thread switched to is a thread beside
 * it. Times are in microseconds with a fraction; where they are bounds, args say `earliest` and
 * `latest` in ns. Gaps are X events of a category of their own. */
#include "user/export/export.h"

struct chrome {
	bool comma;
	int32_t pid, tid;
};

/* Threads of this number are stacks that others switched to. */
#define STACK_TID 1000000000

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

static void put_bounds(struct outbuf *out, struct export_time time)
{
	outbuf_text(out, "\"earliest\":");
	outbuf_dec(out, time.earliest_ns);
	outbuf_text(out, ",\"latest\":");
	outbuf_dec(out, time.latest_ns);
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
	outbuf_text(out, ",\"args\":{\"name\":\"");
	outbuf_json_text(out, name);
	outbuf_text(out, "\"}}");
}

static void track(struct export *x, const struct export_track *track)
{
	struct chrome *s = x->state;
	const struct pugmark_recording_task *task = export_task(x, track->task);
	s->pid = task->pid;
	s->tid = track->stack ? STACK_TID + (int32_t)track->number : task->tid;
	char name[64];
	export_track_name(x, track, name, sizeof(name));
	put_metadata(x, "thread_name", name);
	if (task->tid == task->pid && !track->stack)
		put_metadata(x, "process_name", task->comm);
}

static void settle_track(struct export *x)
{
	struct chrome *s = x->state;
	const struct pugmark_recording_task *task = export_task(x, x->on->task);
	s->pid = task->pid;
	s->tid = x->on->stack ? STACK_TID + (int32_t)x->on->number : task->tid;
}

static void call(struct export *x, const struct export_call *call)
{
	struct outbuf *out = x->replay.out;
	const struct export_frame *frame = &x->frames[call->frame];
	settle_track(x);
	next(x);
	outbuf_text(out, "{\"ph\":\"B\",\"name\":\"");
	outbuf_json_text(out, frame->name);
	outbuf_text(out, "\",\"cat\":\"");
	outbuf_json_text(out, *frame->module ? frame->module : "outside");
	outbuf_char(out, '"');
	put_where(x, call->at_ns);
	bool inferred = x->times && call->begin.earliest_ns != call->begin.latest_ns;
	bool cause = call->how == PUGMARK_TRACE_ENTER;
	if (inferred || cause || call->again) {
		outbuf_text(out, ",\"args\":{");
		if (inferred)
			put_bounds(out, call->begin);
		if (cause) {
			outbuf_text(out, inferred ? ",\"cause\":\"" : "\"cause\":\"");
			outbuf_text(out, trace_view_cause(call->cause));
			outbuf_char(out, '"');
		}
		if (call->again)
			outbuf_text(out, inferred || cause ? ",\"began\":\"before\""
							   : "\"began\":\"before\"");
		outbuf_char(out, '}');
	}
	outbuf_char(out, '}');
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct outbuf *out = x->replay.out;
	(void)call;
	settle_track(x);
	next(x);
	outbuf_text(out, "{\"ph\":\"E\"");
	put_where(x, end->at_ns);
	const char *word = export_end_word(end->how);
	bool inferred = x->times && end->end.earliest_ns != end->end.latest_ns;
	if (inferred || *word) {
		outbuf_text(out, ",\"args\":{");
		if (inferred)
			put_bounds(out, end->end);
		if (*word) {
			outbuf_text(out, inferred ? ",\"end\":\"" : "\"end\":\"");
			outbuf_text(out, word);
			outbuf_char(out, '"');
		}
		outbuf_char(out, '}');
	}
	outbuf_char(out, '}');
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct outbuf *out = x->replay.out;
	settle_track(x);
	next(x);
	outbuf_text(out, "{\"ph\":\"X\",\"name\":\"gap: ");
	outbuf_text(out, trace_view_cause(gap->cause));
	outbuf_text(out, "\",\"cat\":\"gap\"");
	put_where(x, gap->at_ns);
	outbuf_text(out, ",\"dur\":");
	put_us(out,
	       x->times && gap->span.latest_ns > gap->at_ns ? gap->span.latest_ns - gap->at_ns : 0);
	outbuf_text(out, ",\"args\":{\"lost\":");
	outbuf_dec(out, gap->lost);
	outbuf_text(out, "}}");
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
	.begin = begin,
	.track = track,
	.call = call,
	.ret = ret,
	.gap = gap,
	.end = end,
};
