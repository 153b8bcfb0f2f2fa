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
#include "user/view/replay/replay.h"

#include "user/view/replay/replay_paths.h"
#include "user/view/trace/made_code.h"

enum {
	START_WIDTH = 12,
	WITHIN_WIDTH = 10,
	TOOK_WIDTH = 18,
	INDENT = 2,
	MAX_INDENTS = 60, /* a deeper call has its depth in front of it instead */
};

static void begin(struct replay *r)
{
	if (r->view.info->times) {
		outbuf_text(r->out, tty_style(&r->term, STYLE_DIM));
		outbuf_format(r->out, "%*s%*s  %-*scall", START_WIDTH, "start", WITHIN_WIDTH,
			      "within", TOOK_WIDTH, "took");
		outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
		outbuf_char(r->out, '\n');
	}
}

static void thread(struct replay *r, uint32_t task)
{
	const struct pugmark_recording_task *t = &r->view.tasks[task];
	outbuf_text(r->out, tty_style(&r->term, STYLE_BOLD));
	uint64_t goroutine = trace_view_goroutine(&r->view, task);
	if (goroutine)
		outbuf_format(r->out, "goroutine %llu", (unsigned long long)goroutine);
	else
		outbuf_format(r->out, "thread %d", t->tid);
	if (goroutine || t->pid != t->tid)
		outbuf_format(r->out, " of process %d", t->pid);
	outbuf_char(r->out, ' ');
	outbuf_safe_text(r->out, t->comm);
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	outbuf_char(r->out, '\n');
}

/* ---- columns ---- */

static void pad(struct outbuf *out, unsigned used, unsigned width)
{
	outbuf_spaces(out, used < width ? width - used : 0);
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
	outbuf_dec(r->out, us / 1000000);
	us %= 1000000;
	for (unsigned i = 6; i; i--, us /= 10)
		digits[i] = (char)('0' + us % 10);
	outbuf_text(r->out, digits);
}

static void put_within(struct replay *r, uint64_t ns)
{
	char *start;
	unsigned len;
	outbuf_room(r->out, 64);
	start = r->out->at;
	outbuf_char(r->out, '+');
	len = 1 + outbuf_duration(r->out, ns);
	/* right-aligned: moved over once its length is known */
	if (len < WITHIN_WIDTH) {
		memmove(start + WITHIN_WIDTH - len, start, len);
		memset(start, ' ', WITHIN_WIDTH - len);
		r->out->at = start + WITHIN_WIDTH;
	}
}

static void put_took(struct replay *r, const struct replay_end *end)
{
	struct time_bounds took = {end->min_ns, end->max_ns};
	pad(r->out, outbuf_bounds(r->out, took), TOOK_WIDTH);
}

/* The columns of times; @call or @end may be NULL: an empty column. */
static void put_times(struct replay *r, const struct call *call, const struct replay_end *end)
{
	if (!r->view.info->times)
		return;
	outbuf_text(r->out, tty_style(&r->term, STYLE_DIM));
	if (call) {
		put_start(r, call->from_ns);
		put_within(r, call->to_ns - call->from_ns);
	} else {
		outbuf_spaces(r->out, START_WIDTH + WITHIN_WIDTH);
	}
	outbuf_text(r->out, "  ");
	if (end)
		put_took(r, end);
	else
		outbuf_spaces(r->out, TOOK_WIDTH);
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
}

static void put_indent(struct replay *r, uint32_t indent)
{
	if (indent <= MAX_INDENTS) {
		outbuf_spaces(r->out, INDENT * indent);
		return;
	}
	outbuf_spaces(r->out, INDENT * MAX_INDENTS);
	outbuf_format(r->out, "[%u] ", indent);
}

/* ---- calls ---- */

static void put_name(struct replay *r, const struct call *call, const struct replay_level *level)
{
	if (call->how == PUGMARK_TRACE_TAIL)
		outbuf_text(r->out, "=> ");
	outbuf_text(r->out, tty_style(&r->term, call->outside ? STYLE_DIM : STYLE_NONE));
	if (r->view.n_modules > 1 && !call->outside) {
		outbuf_safe_text(r->out, pugmark_trace_module_name(r->view.trace, call->module));
		outbuf_char(r->out, ':');
	}
	const char *name = replay_call_name(r, call);
	outbuf_safe_text(r->out, name);
	/* A demangled name has its parameters already. */
	bool typed = strchr(name, '(');
	if (level->values) {
		outbuf_text(r->out, typed ? "  (" : "(");
		replay_put_arguments(r, call, level, false);
		outbuf_char(r->out, ')');
	} else if (!typed) {
		outbuf_text(r->out, "()");
	}
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
}

static void put_origin(struct replay *r, const struct call *call)
{
	if (call->how == PUGMARK_TRACE_ENTER) {
		struct made_code from;
		outbuf_text(r->out, "  <- ");
		outbuf_text(r->out, trace_view_cause(call->cause));
		if (made_code_find(&r->view, r->task, call->entered_from, call->to_ns, &from)) {
			outbuf_text(r->out, " from ");
			made_code_print(r->out, &from);
		}
	} else if (call->how == PUGMARK_TRACE_GAP) {
		outbuf_text(r->out, "  <- open before");
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
	outbuf_text(r->out, how == CALL_OPEN && r->past ? "  goes on" : words[how]);
}

/* Whether both were entered from code of the same name, or from none that was made at run time. */
static bool same_origin(struct replay *r, const struct call *a, const struct call *b)
{
	struct made_code x = {0}, y = {0};
	if (a->entered_from == b->entered_from)
		return true;
	bool made = made_code_find(&r->view, r->task, a->entered_from, a->to_ns, &x);
	if (made != made_code_find(&r->view, r->task, b->entered_from, b->to_ns, &y))
		return false;
	return !made || (x.certain == y.certain && !x.name == !y.name &&
			 (!x.name || !strcmp(x.name, y.name)));
}

static bool same_call(struct replay *r, const struct call *a, const struct call *b)
{
	return a->func == b->func && a->module == b->module && a->import == b->import &&
	       a->how == b->how && a->outside == b->outside && a->cause == b->cause &&
	       same_origin(r, a, b);
}

static void put_run(struct replay *r)
{
	struct replay_run *run = &r->run;
	if (!run->n)
		return;
	put_times(r, &run->call, &run->end);
	put_indent(r, run->level.indent);
	put_name(r, &run->call, &run->level);
	if (run->level.hid)
		outbuf_text(r->out, " {…}");
	if (run->n > 1)
		outbuf_format(r->out, " ×%llu", (unsigned long long)run->n);
	put_origin(r, &run->call);
	put_ending(r, run->end.how);
	outbuf_char(r->out, '\n');
	run->n = 0;
}

static void open_call(struct replay *r, uint32_t level)
{
	const struct call *call = &r->calls.stack[level];
	put_run(r);
	put_times(r, call, NULL);
	put_indent(r, r->levels[level].indent);
	put_name(r, call, &r->levels[level]);
	outbuf_text(r->out, " {");
	put_origin(r, call);
	outbuf_char(r->out, '\n');
}

static void close_leaf(struct replay *r, uint32_t level, const struct replay_end *end)
{
	const struct call *call = &r->calls.stack[level];
	struct replay_run *run = &r->run;
	bool has_values = r->levels[level].values;
	if (!r->all && !has_values && run->n && !run->level.values &&
	    run->level.indent == r->levels[level].indent &&
	    run->level.hid == r->levels[level].hid && run->end.how == end->how &&
	    same_call(r, &run->call, call)) {
		run->n++;
		/* The calls follow each other, so what they took together lies within the whole
		 * span. */
		run->end.min_ns += end->min_ns;
		run->end.max_ns = end->to_ns - run->call.from_ns;
		return;
	}
	put_run(r);
	*run = (struct replay_run){*call, r->levels[level], *end, 1};
	if (r->all || has_values) /* these are gone with the call */
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
	outbuf_text(r->out, "}  ");
	outbuf_text(r->out, tty_style(&r->term, STYLE_DIM));
	outbuf_safe_text(r->out, replay_call_name(r, &r->calls.stack[level]));
	put_ending(r, end->how);
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	outbuf_char(r->out, '\n');
}

/* ---- blocks ---- */

static void put_place(struct replay *r, const char *file, uint32_t line)
{
	const char *base = strrchr(file, '/');
	outbuf_safe_text(r->out, base ? base + 1 : file);
	outbuf_format(r->out, ":%u", line);
}

static void block_line(struct replay *r, uint32_t level, const struct replay_block *b)
{
	struct call when = {.from_ns = b->from_ns, .to_ns = b->to_ns};
	put_run(r);
	put_times(r, &when, NULL);
	put_indent(r, r->levels[level].indent + 1 + b->inlined);
	outbuf_text(r->out, tty_style(&r->term, STYLE_DIM));
	outbuf_hex(r->out, b->addr);
	if (b->file) {
		outbuf_text(r->out, "  ");
		put_place(r, b->file, b->line);
	}
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	outbuf_char(r->out, '\n');
}

static void inline_open(struct replay *r, uint32_t level, uint32_t depth, const char *name,
			const char *file, uint32_t line)
{
	put_run(r);
	put_times(r, NULL, NULL);
	put_indent(r, r->levels[level].indent + 1 + depth);
	outbuf_safe_text(r->out, name);
	outbuf_text(r->out, "() {  inlined");
	if (line) {
		outbuf_text(r->out, " at ");
		put_place(r, file, line);
	}
	outbuf_char(r->out, '\n');
}

static void inline_close(struct replay *r, uint32_t level, uint32_t depth, const char *name)
{
	put_run(r);
	put_times(r, NULL, NULL);
	put_indent(r, r->levels[level].indent + 1 + depth);
	outbuf_text(r->out, "}  ");
	outbuf_text(r->out, tty_style(&r->term, STYLE_DIM));
	outbuf_safe_text(r->out, name);
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	outbuf_char(r->out, '\n');
}

static void gap_line(struct replay *r, const struct pugmark_trace_event *gap)
{
	put_run(r);
	if (r->view.info->times) {
		outbuf_text(r->out, tty_style(&r->term, STYLE_DIM));
		put_start(r, gap->from_ns);
		put_within(r, gap->to_ns - gap->from_ns);
		outbuf_spaces(r->out, TOOK_WIDTH + 2);
		outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	}
	outbuf_text(r->out, tty_style(&r->term, STYLE_WARN));
	outbuf_text(r->out, "-- gap: ");
	outbuf_text(r->out, trace_view_cause(gap->cause));
	if (gap->lost)
		outbuf_format(r->out, ", %llu events lost", (unsigned long long)gap->lost);
	outbuf_text(r->out, " --");
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	outbuf_char(r->out, '\n');
}

/* -- on stack N --, with the goroutine that it is of; -- on thread TID -- of a goroutine */
static void stack_line(struct replay *r, const struct pugmark_trace_event *e)
{
	put_run(r);
	if (r->view.info->times) {
		outbuf_text(r->out, tty_style(&r->term, STYLE_DIM));
		put_start(r, e->from_ns);
		put_within(r, e->to_ns - e->from_ns);
		outbuf_spaces(r->out, TOOK_WIDTH + 2);
		outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	}
	outbuf_text(r->out, tty_style(&r->term, STYLE_BOLD));
	if (trace_view_goroutine(&r->view, r->task))
		outbuf_format(r->out, "-- on thread %llu --", (unsigned long long)e->addr);
	else if (e->target)
		outbuf_format(r->out, "-- on stack %u, goroutine %llu --", r->calls.stacks.on,
			      (unsigned long long)e->target);
	else
		outbuf_format(r->out, "-- on stack %u --", r->calls.stacks.on);
	outbuf_text(r->out, tty_style(&r->term, STYLE_NONE));
	outbuf_char(r->out, '\n');
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
