// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay_json.c: the call tree as JSON. Calls are a flat list, in the order in which they end, each
 * with its number and that of the call around it: a tree of nested objects would be as deep as the
 * program's recursion, which few readers of JSON survive. */
#include "user/view/replay/replay.h"

#include "user/view/trace/made_code.h"

#include "user/view/replay/replay_paths.h"

static void begin(struct replay *r)
{
	outbuf_text(r->out, "{\"threads\":[");
	r->comma = false;
}

static void thread(struct replay *r, uint32_t task)
{
	const struct pugmark_recording_task *t = &r->view.tasks[task];
	uint64_t goroutine = trace_view_goroutine(&r->view, task);
	outbuf_text(r->out, r->comma ? ",\n{" : "{");
	if (goroutine)
		outbuf_format(r->out, "\"goroutine\":%llu", (unsigned long long)goroutine);
	else
		outbuf_format(r->out, "\"tid\":%d", t->tid);
	outbuf_format(r->out, ",\"pid\":%d,\"name\":\"", t->pid);
	outbuf_json_text(r->out, t->comm);
	outbuf_text(r->out, "\",\"calls\":[\n");
	r->comma = false;
}

static void put_key(struct outbuf *out, const char *key, const char *text)
{
	outbuf_text(out, key);
	outbuf_json_text(out, text);
	outbuf_char(out, '"');
}

static void put_span(struct replay *r, const char *key, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t start = r->view.start_ns;
	outbuf_text(r->out, key);
	outbuf_dec(r->out, from_ns > start ? from_ns - start : 0);
	outbuf_char(r->out, ',');
	outbuf_dec(r->out, to_ns > start ? to_ns - start : 0);
	outbuf_char(r->out, ']');
}

static uint64_t id_around(const struct replay *r, uint32_t level)
{
	while (level-- > 0)
		if (r->levels[level].shown)
			return r->levels[level].id;
	return 0;
}

static void put_what(struct replay *r, const struct call *call)
{
	static const char *const kinds[] = {
		[PUGMARK_TRACE_CALL] = "call",
		[PUGMARK_TRACE_TAIL] = "tail",
		[PUGMARK_TRACE_ENTER] = "enter",
		[PUGMARK_TRACE_GAP] = "open",
	};
	put_key(r->out, ",\"kind\":\"", kinds[call->how]);
	if (call->how == PUGMARK_TRACE_ENTER)
		put_key(r->out, ",\"cause\":\"", trace_view_cause(call->cause));
	struct made_code from;
	if (made_code_find(&r->view, r->task, call->entered_from, call->to_ns, &from))
		made_code_json(r->out, &from);
	if (call->outside) {
		if (*call->import)
			put_key(r->out, ",\"import\":\"", replay_call_name(r, call));
	} else {
		put_key(r->out, ",\"module\":\"",
			pugmark_trace_module_name(r->view.trace, call->module));
		if (call->func != PUGMARK_NONE)
			put_key(r->out, ",\"function\":\"", replay_call_name(r, call));
	}
	if (call->site) {
		outbuf_text(r->out, ",\"site\":\"");
		outbuf_hex(r->out, call->site);
		outbuf_char(r->out, '"');
	}
}

static void close_call(struct replay *r, uint32_t level, const struct replay_end *end, bool leaf)
{
	static const char *const ends[] = {
		[CALL_RETURNED] = "returned", [CALL_JUMPED] = "jumped", [CALL_UNWOUND] = "unwound",
		[CALL_GIVEN_UP] = "given up", [CALL_OPEN] = "open",
	};
	const struct call *call = &r->calls.stack[level];
	uint64_t around = id_around(r, level);
	(void)leaf;
	outbuf_json_dec(r->out, r->comma ? ",\n{\"id\":" : "{\"id\":", r->levels[level].id);
	r->comma = true;
	if (around)
		outbuf_json_dec(r->out, ",\"parent\":", around);
	else
		outbuf_text(r->out, ",\"parent\":null");
	outbuf_json_dec(r->out, ",\"depth\":", r->levels[level].indent);
	put_what(r, call);
	if (r->levels[level].values) {
		outbuf_text(r->out, ",\"arguments\":");
		replay_put_arguments(r, call, &r->levels[level], true);
	}
	if (r->calls.stacks.on)
		outbuf_json_dec(r->out, ",\"stack\":", r->calls.stacks.on);
	put_key(r->out, ",\"end\":\"", ends[end->how]);
	if (r->view.info->times) {
		put_span(r, ",\"start_ns\":[", call->from_ns, call->to_ns);
		put_span(r, ",\"end_ns\":[", end->from_ns, end->to_ns);
		outbuf_json_dec(r->out, ",\"took_ns\":[", end->min_ns);
		outbuf_json_dec(r->out, ",", end->max_ns);
		outbuf_char(r->out, ']');
	}
	outbuf_char(r->out, '}');
}

/* A block: of the call `parent`, in so many inlined calls. */
static void block_line(struct replay *r, uint32_t level, const struct replay_block *b)
{
	outbuf_text(r->out, r->comma ? ",\n{\"kind\":\"block\"" : "{\"kind\":\"block\"");
	r->comma = true;
	outbuf_json_dec(r->out, ",\"parent\":", r->levels[level].id);
	put_key(r->out, ",\"module\":\"", pugmark_trace_module_name(r->view.trace, b->module));
	outbuf_text(r->out, ",\"address\":\"");
	outbuf_hex(r->out, b->addr);
	outbuf_char(r->out, '"');
	if (b->file) {
		put_key(r->out, ",\"file\":\"", b->file);
		outbuf_json_dec(r->out, ",\"line\":", b->line);
	}
	outbuf_json_dec(r->out, ",\"inlined\":", b->inlined);
	if (r->view.info->times)
		put_span(r, ",\"start_ns\":[", b->from_ns, b->to_ns);
	outbuf_char(r->out, '}');
}

/* An inlined call begins or ends, in the call `parent`, at so much depth there. */
static void put_inline(struct replay *r, const char *kind, uint32_t level, uint32_t depth,
		       const char *name)
{
	put_key(r->out, r->comma ? ",\n{\"kind\":\"" : "{\"kind\":\"", kind);
	r->comma = true;
	outbuf_json_dec(r->out, ",\"parent\":", r->levels[level].id);
	outbuf_json_dec(r->out, ",\"inlined\":", depth);
	put_key(r->out, ",\"function\":\"", name);
}

static void inline_open(struct replay *r, uint32_t level, uint32_t depth, const char *name,
			const char *file, uint32_t line)
{
	put_inline(r, "inlined", level, depth, name);
	if (line) {
		put_key(r->out, ",\"file\":\"", file);
		outbuf_json_dec(r->out, ",\"line\":", line);
	}
	outbuf_char(r->out, '}');
}

static void inline_close(struct replay *r, uint32_t level, uint32_t depth, const char *name)
{
	put_inline(r, "inlined end", level, depth, name);
	outbuf_char(r->out, '}');
}

static void gap_line(struct replay *r, const struct pugmark_trace_event *gap)
{
	put_key(r->out,
		r->comma ? ",\n{\"kind\":\"gap\",\"cause\":\"" : "{\"kind\":\"gap\",\"cause\":\"",
		trace_view_cause(gap->cause));
	r->comma = true;
	outbuf_json_dec(r->out, ",\"lost\":", gap->lost);
	if (r->view.info->times)
		put_span(r, ",\"start_ns\":[", gap->from_ns, gap->to_ns);
	outbuf_char(r->out, '}');
}

static void stack_line(struct replay *r, const struct pugmark_trace_event *e)
{
	bool moves = trace_view_goroutine(&r->view, r->task);
	outbuf_text(r->out, r->comma ? ",\n" : "");
	outbuf_json_dec(r->out,
			moves ? "{\"kind\":\"thread\",\"tid\":" : "{\"kind\":\"switch\",\"stack\":",
			moves ? e->addr : r->calls.stacks.on);
	if (e->target)
		outbuf_json_dec(r->out, ",\"goroutine\":", e->target);
	r->comma = true;
	if (r->view.info->times)
		put_span(r, ",\"start_ns\":[", e->from_ns, e->to_ns);
	outbuf_char(r->out, '}');
}

static void thread_end(struct replay *r, uint32_t task)
{
	(void)task;
	outbuf_text(r->out, "]}");
	r->comma = true;
}

static void end(struct replay *r)
{
	outbuf_text(r->out, "]}\n");
}

const struct replay_format replay_json = {
	.name = "json",
	.begin = begin,
	.thread = thread,
	.close = close_call,
	.gap = gap_line,
	.stack = stack_line,
	.block = block_line,
	.inline_open = inline_open,
	.inline_close = inline_close,
	.thread_end = thread_end,
	.end = end,
};
