// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay_text.c: the call tree for people. Each call has a line, or an opening and a closing one:
 *
 *       start    within  took                call
 *    0.000123   +1.20us                      main() {
 *    0.000130   +1.20us  <3.41us               parse()
 *                        15.2us..18.0us      }  main
 *
 * A call began somewhere in the span `within` after `start`, and took something between the two
 * bounds. */
#include "user/replay.h"

#include "user/replay_paths.h"

enum {
	START_WIDTH = 12,
	WITHIN_WIDTH = 10,
	TOOK_WIDTH = 18,
	INDENT = 2,
	MAX_INDENTS = 60, /* what is deeper has its depth before it instead */
};

static void begin(struct replay *r)
{
	if (r->view.info->times) {
		out_text(r->out, term_style(&r->term, STYLE_DIM));
		out_format(r->out, "%*s%*s  %-*scall", START_WIDTH, "start", WITHIN_WIDTH, "within",
			   TOOK_WIDTH, "took");
		out_text(r->out, term_style(&r->term, STYLE_NONE));
		out_char(r->out, '\n');
	}
}

static void thread(struct replay *r, uint32_t task)
{
	const struct recording_task *t = &r->view.tasks[task];
	out_text(r->out, term_style(&r->term, STYLE_BOLD));
	out_format(r->out, "thread %d", t->tid);
	if (t->pid != t->tid)
		out_format(r->out, " of process %d", t->pid);
	out_char(r->out, ' ');
	out_safe_text(r->out, t->comm);
	out_text(r->out, term_style(&r->term, STYLE_NONE));
	out_char(r->out, '\n');
}

/* ---- columns ---- */

static void pad(struct out *out, unsigned used, unsigned width)
{
	out_spaces(out, used < width ? width - used : 0);
}

/* Seconds and microseconds, right-aligned. */
static void put_start(struct replay *r, uint64_t time_ns)
{
	uint64_t us = time_ns > r->view.start_ns ? (time_ns - r->view.start_ns) / 1000 : 0;
	char digits[] = ".000000";
	unsigned len = sizeof(digits) - 1;
	for (uint64_t s = us / 1000000; s; s /= 10)
		len++;
	pad(r->out, us < 1000000 ? len + 1 : len, START_WIDTH);
	out_dec(r->out, us / 1000000);
	us %= 1000000;
	for (unsigned i = 6; i; i--, us /= 10)
		digits[i] = (char)('0' + us % 10);
	out_text(r->out, digits);
}

static void put_within(struct replay *r, uint64_t ns)
{
	char *start;
	unsigned len;
	out_room(r->out, 64);
	start = r->out->at;
	out_char(r->out, '+');
	len = 1 + out_duration(r->out, ns);
	/* right-aligned: moved over once its length is known */
	if (len < WITHIN_WIDTH) {
		memmove(start + WITHIN_WIDTH - len, start, len);
		memset(start, ' ', WITHIN_WIDTH - len);
		r->out->at = start + WITHIN_WIDTH;
	}
}

static void put_took(struct replay *r, const struct replay_end *end)
{
	unsigned len = 0;
	if (end->max_ns == end->min_ns) {
		len = out_duration(r->out, end->max_ns);
	} else if (!end->min_ns) {
		out_char(r->out, '<');
		len = 1 + out_duration(r->out, end->max_ns);
	} else {
		len = out_duration(r->out, end->min_ns);
		out_text(r->out, "..");
		len += 2 + out_duration(r->out, end->max_ns);
	}
	pad(r->out, len, TOOK_WIDTH);
}

/* The columns of times; @call or @end may be NULL: an empty column. */
static void put_times(struct replay *r, const struct call *call, const struct replay_end *end)
{
	if (!r->view.info->times)
		return;
	out_text(r->out, term_style(&r->term, STYLE_DIM));
	if (call) {
		put_start(r, call->from_ns);
		put_within(r, call->to_ns - call->from_ns);
	} else {
		out_spaces(r->out, START_WIDTH + WITHIN_WIDTH);
	}
	out_text(r->out, "  ");
	if (end)
		put_took(r, end);
	else
		out_spaces(r->out, TOOK_WIDTH);
	out_text(r->out, term_style(&r->term, STYLE_NONE));
}

static void put_indent(struct replay *r, uint32_t indent)
{
	if (indent <= MAX_INDENTS) {
		out_spaces(r->out, INDENT * indent);
		return;
	}
	out_spaces(r->out, INDENT * MAX_INDENTS);
	out_format(r->out, "[%u] ", indent);
}

/* ---- calls ---- */

static void put_name(struct replay *r, const struct call *call)
{
	if (call->how == TRACE_TAIL)
		out_text(r->out, "=> ");
	out_text(r->out, term_style(&r->term, call->outside ? STYLE_DIM : STYLE_NONE));
	if (r->view.n_modules > 1 && !call->outside) {
		out_safe_text(r->out, pugmark_trace_module_name(r->view.trace, call->module));
		out_char(r->out, ':');
	}
	const char *name = replay_call_name(r, call);
	out_safe_text(r->out, name);
	/* A demangled name has its parameters already. */
	if (!strchr(name, '('))
		out_text(r->out, "()");
	out_text(r->out, term_style(&r->term, STYLE_NONE));
}

static void put_origin(struct replay *r, const struct call *call)
{
	if (call->how == TRACE_ENTER) {
		out_text(r->out, "  <- ");
		out_text(r->out, view_cause(call->cause));
	} else if (call->how == TRACE_GAP) {
		out_text(r->out, "  <- open before");
	}
}

static void put_ending(struct replay *r, enum call_end how)
{
	static const char *const words[] = {
		[CALL_RETURNED] = "",
		[CALL_JUMPED] = "", /* to what the next line shows */
		[CALL_UNWOUND] = "  unwound",
		[CALL_GIVEN_UP] = "  given up in the gap",
		[CALL_OPEN] = "  did not return",
	};
	out_text(r->out, how == CALL_OPEN && r->past ? "  goes on" : words[how]);
}

static bool same_call(const struct call *a, const struct call *b)
{
	return a->func == b->func && a->module == b->module && a->import == b->import &&
	       a->how == b->how && a->outside == b->outside && a->cause == b->cause;
}

static void put_run(struct replay *r)
{
	struct replay_run *run = &r->run;
	if (!run->n)
		return;
	put_times(r, &run->call, &run->end);
	put_indent(r, run->level.indent);
	put_name(r, &run->call);
	if (run->level.hid)
		out_text(r->out, " {…}");
	if (run->n > 1)
		out_format(r->out, " ×%llu", (unsigned long long)run->n);
	put_origin(r, &run->call);
	put_ending(r, run->end.how);
	out_char(r->out, '\n');
	run->n = 0;
}

static void open_call(struct replay *r, uint32_t level)
{
	const struct call *call = &r->calls.stack[level];
	put_run(r);
	put_times(r, call, NULL);
	put_indent(r, r->levels[level].indent);
	put_name(r, call);
	out_text(r->out, " {");
	put_origin(r, call);
	out_char(r->out, '\n');
}

static void close_leaf(struct replay *r, uint32_t level, const struct replay_end *end)
{
	const struct call *call = &r->calls.stack[level];
	struct replay_run *run = &r->run;
	if (!r->all && run->n && run->level.indent == r->levels[level].indent &&
	    run->level.hid == r->levels[level].hid && run->end.how == end->how &&
	    same_call(&run->call, call)) {
		run->n++;
		/* They follow each other: what they took together is inside of the whole span. */
		run->end.min_ns += end->min_ns;
		run->end.max_ns = end->to_ns - run->call.from_ns;
		return;
	}
	put_run(r);
	*run = (struct replay_run){*call, r->levels[level], *end, 1};
	if (r->all)
		put_run(r);
}

static void close_call(struct replay *r, uint32_t level, const struct replay_end *end, bool leaf)
{
	if (leaf) {
		close_leaf(r, level, end);
		return;
	}
	put_run(r);
	put_times(r, NULL, end);
	put_indent(r, r->levels[level].indent);
	out_text(r->out, "}  ");
	out_text(r->out, term_style(&r->term, STYLE_DIM));
	out_safe_text(r->out, replay_call_name(r, &r->calls.stack[level]));
	put_ending(r, end->how);
	out_text(r->out, term_style(&r->term, STYLE_NONE));
	out_char(r->out, '\n');
}

/* ---- blocks ---- */

static void put_place(struct replay *r, const char *file, uint32_t line)
{
	const char *base = strrchr(file, '/');
	out_safe_text(r->out, base ? base + 1 : file);
	out_format(r->out, ":%u", line);
}

static void block_line(struct replay *r, uint32_t level, const struct replay_block *b)
{
	struct call when = {.from_ns = b->from_ns, .to_ns = b->to_ns};
	put_run(r);
	put_times(r, &when, NULL);
	put_indent(r, r->levels[level].indent + 1 + b->inlined);
	out_text(r->out, term_style(&r->term, STYLE_DIM));
	out_hex(r->out, b->addr);
	if (b->file) {
		out_text(r->out, "  ");
		put_place(r, b->file, b->line);
	}
	out_text(r->out, term_style(&r->term, STYLE_NONE));
	out_char(r->out, '\n');
}

static void inline_open(struct replay *r, uint32_t level, uint32_t depth, const char *name,
			const char *file, uint32_t line)
{
	put_run(r);
	put_times(r, NULL, NULL);
	put_indent(r, r->levels[level].indent + 1 + depth);
	out_safe_text(r->out, name);
	out_text(r->out, "() {  inlined");
	if (line) {
		out_text(r->out, " at ");
		put_place(r, file, line);
	}
	out_char(r->out, '\n');
}

static void inline_close(struct replay *r, uint32_t level, uint32_t depth, const char *name)
{
	put_run(r);
	put_times(r, NULL, NULL);
	put_indent(r, r->levels[level].indent + 1 + depth);
	out_text(r->out, "}  ");
	out_text(r->out, term_style(&r->term, STYLE_DIM));
	out_safe_text(r->out, name);
	out_text(r->out, term_style(&r->term, STYLE_NONE));
	out_char(r->out, '\n');
}

static void gap_line(struct replay *r, const struct trace_event *gap)
{
	put_run(r);
	if (r->view.info->times) {
		out_text(r->out, term_style(&r->term, STYLE_DIM));
		put_start(r, gap->from_ns);
		put_within(r, gap->to_ns - gap->from_ns);
		out_spaces(r->out, TOOK_WIDTH + 2);
		out_text(r->out, term_style(&r->term, STYLE_NONE));
	}
	out_text(r->out, term_style(&r->term, STYLE_WARN));
	out_text(r->out, "-- gap: ");
	out_text(r->out, view_cause(gap->cause));
	if (gap->lost)
		out_format(r->out, ", %llu events lost", (unsigned long long)gap->lost);
	out_text(r->out, " --");
	out_text(r->out, term_style(&r->term, STYLE_NONE));
	out_char(r->out, '\n');
}

/* -- on stack N -- */
static void stack_line(struct replay *r, const struct trace_event *e)
{
	put_run(r);
	if (r->view.info->times) {
		out_text(r->out, term_style(&r->term, STYLE_DIM));
		put_start(r, e->from_ns);
		put_within(r, e->to_ns - e->from_ns);
		out_spaces(r->out, TOOK_WIDTH + 2);
		out_text(r->out, term_style(&r->term, STYLE_NONE));
	}
	out_text(r->out, term_style(&r->term, STYLE_BOLD));
	out_format(r->out, "-- on stack %u --", r->calls.stacks.on);
	out_text(r->out, term_style(&r->term, STYLE_NONE));
	out_char(r->out, '\n');
}

static void thread_end(struct replay *r, uint32_t task)
{
	(void)task;
	put_run(r);
}

static void end(struct replay *r)
{
	(void)r;
}

const struct replay_format replay_text = {
	.name = "text",
	.begin = begin,
	.thread = thread,
	.open = open_call,
	.close = close_call,
	.gap = gap_line,
	.stack = stack_line,
	.block = block_line,
	.inline_open = inline_open,
	.inline_close = inline_close,
	.thread_end = thread_end,
	.end = end,
};
