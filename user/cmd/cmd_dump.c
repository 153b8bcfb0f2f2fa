// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_dump.c: `pugmark dump`: the events of the recovered trace, one a line; values that were read
 * with them (record --args) are in its JSON alone. The text format is a contract for other programs
 * (pugmark-dump(1)). It is written faster than events are recovered: there is no printf, and what
 * the lines of a thread begin with is made once. */
#include "user/cli/command.h"
#include "user/cli/outbuf.h"
#include "user/view/trace/left_out.h"
#include "user/view/trace/made_code.h"
#include "user/view/trace/trace_view.h"

#include <errno.h>
#include <stdlib.h>

enum { HEAD_BYTES = 1100, N_KINDS = PUGMARK_TRACE_SWITCH + 1 };

struct head {
	char text[HEAD_BYTES];
	uint16_t len, module_at; /* where in it the module's name begins */
};

struct dump {
	struct trace_view view;
	struct outbuf *out;
	const struct dump_format *format;
	bool count_only;
	uint64_t events, witnesses, gaps;
	uint32_t task;
	char who[VIEW_WHO_BYTES]; /* whose events they are: trace_view_who() */
	/* What lines of this thread begin with, up to the address: per module and kind. */
	struct head *heads;
	struct head times; /* those of the last event, as JSON */
	uint64_t from_ns, to_ns;
};

struct dump_format {
	const char *name;
	void (*event)(struct dump *dump, const struct pugmark_trace_event *event);
};

static const char help[] =
	"usage: pugmark dump [options] DIR\n"
	"\n"
	"Prints every recovered event of the recording DIR, one a line, thread by thread.\n"
	"      --format text|ndjson\n"
	"                           how to print (text)\n"
	"  -F, --function PATTERN   only calls and returns of functions that match (a glob, or\n"
	"                           /regular expression/; repeatable)\n"
	"  -N, --no-function PATTERN\n"
	"                           without functions that match (repeatable)\n"
	"      --module PATTERN     only events of modules whose name matches (repeatable); or of\n"
	"                           one module, by its number in the recording, from 0\n"
	"      --thread TID         only that thread (repeatable)\n" VIEW_HELP_LINES
	"      --from TIME          only what may have happened after TIME from the start: "
	"seconds,\n"
	"                           or a number with s, ms, us or ns\n"
	"      --to TIME            only what may have happened before TIME\n"
	"      --count              only how many: calls and returns, witness events, gaps\n"
	"      --no-pager           on a terminal: not through $PAGER (less)\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0, or 3 where the trace has gaps; 1 for an error, 2 for wrong usage.\n";

static const char *const kinds[] = {
	[PUGMARK_TRACE_CALL] = "call",	   [PUGMARK_TRACE_TAIL] = "tail",
	[PUGMARK_TRACE_RET] = "ret",	   [PUGMARK_TRACE_UNWIND] = "unwind",
	[PUGMARK_TRACE_ENTER] = "enter",   [PUGMARK_TRACE_GAP] = "gap",
	[PUGMARK_TRACE_BLOCK] = "block",   [PUGMARK_TRACE_VALUE] = "value",
	[PUGMARK_TRACE_SWITCH] = "switch",
};

/* ---- text ---- */

/* As one word: names of files may be anything. */
static void add_name(struct head *h, const char *name)
{
	char escape[PRINTABLE_ESCAPE_MAX];
	while (*name && h->len + 2 * PRINTABLE_ESCAPE_MAX < HEAD_BYTES) { /* no file's is longer */
		size_t n = printable_run(name, PRINT_WORD);
		size_t room = HEAD_BYTES - PRINTABLE_ESCAPE_MAX - h->len;
		n = n < room ? n : room;
		memcpy(h->text + h->len, name, n);
		h->len += (uint16_t)n;
		name += n;
		if (*name && !printable_run(name, PRINT_WORD)) {
			name += printable_escape(name, PRINT_WORD, escape);
			h->len += (uint16_t)sprintf(h->text + h->len, "%s", escape);
		}
	}
}

static void make_heads(struct dump *d)
{
	for (uint32_t m = 0; m < d->view.n_modules; m++)
		for (unsigned kind = 0; kind < N_KINDS; kind++) {
			struct head *h = &d->heads[m * N_KINDS + kind];
			h->module_at = (uint16_t)snprintf(h->text, sizeof(h->text), "%s %s ",
							  d->who, kinds[kind]);
			h->len = h->module_at;
			add_name(h, pugmark_trace_module_name(d->view.trace, m));
			h->text[h->len++] = ' ';
		}
}

static void text_gap(struct dump *d, const struct pugmark_trace_event *e)
{
	outbuf_format(d->out, "%s gap %s %llu %llu %llu\n", d->who, trace_view_cause(e->cause),
		      (unsigned long long)e->lost, (unsigned long long)e->from_ns,
		      (unsigned long long)e->to_ns);
}

static void text_switch(struct dump *d, const struct pugmark_trace_event *e)
{
	if (trace_view_goroutine(&d->view, d->task)) {
		outbuf_format(d->out, "%s thread %llu\n", d->who, (unsigned long long)e->addr);
		return;
	}
	outbuf_format(d->out, "%s switch %u", d->who, e->func);
	if (e->target)
		outbuf_format(d->out, " goroutine %llu", (unsigned long long)e->target);
	outbuf_char(d->out, '\n');
}

static void text_event(struct dump *d, const struct pugmark_trace_event *e)
{
	struct outbuf *out = d->out;
	if (e->kind == PUGMARK_TRACE_GAP) {
		text_gap(d, e);
		return;
	}
	if (e->kind == PUGMARK_TRACE_SWITCH) {
		text_switch(d, e);
		return;
	}
	if (e->kind ==
	    PUGMARK_TRACE_VALUE) /* the lines of a trace do not depend on values that were read */
		return;
	const struct head *head = &d->heads[e->module * N_KINDS + e->kind];
	outbuf_room(out, 2 * HEAD_BYTES + 3 * OUT_NUMBER_MAX);
	outbuf_append(out, head->text, head->len);
	outbuf_hex(out, e->addr);
	if (e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL) {
		outbuf_char(out, ' ');
		if (e->target) {
			head = &d->heads[e->target_module * N_KINDS];
			outbuf_append(out, head->text + head->module_at,
				      head->len - 1 - head->module_at);
			outbuf_char(out, ':');
			outbuf_hex(out, e->target);
		} else {
			outbuf_char(out, '-');
		}
		/* A traced target says more than the name by which it was reached. */
		if (*e->import && !e->target) {
			outbuf_char(out, ' ');
			outbuf_safe_text(out, e->import);
		}
	} else if (e->kind == PUGMARK_TRACE_ENTER) {
		struct made_code from;
		outbuf_char(out, ' ');
		outbuf_text(out, trace_view_cause(e->cause));
		if (made_code_find(&d->view, d->task, e->outside, e->to_ns, &from)) {
			outbuf_char(out, ' ');
			made_code_print(out, &from);
		}
	}
	outbuf_char(out, '\n');
}

/* ---- one JSON object a line ---- */

/* Events that the same two witnesses enclose have the same times. */
static void json_times(struct dump *d, const struct pugmark_trace_event *e)
{
	struct head *h = &d->times;
	if (!h->len || e->from_ns != d->from_ns || e->to_ns != d->to_ns)
		h->len = (uint16_t)snprintf(
			h->text, sizeof(h->text), ",\"from_ns\":%llu,\"to_ns\":%llu",
			(unsigned long long)e->from_ns, (unsigned long long)e->to_ns);
	d->from_ns = e->from_ns;
	d->to_ns = e->to_ns;
	outbuf_bytes(d->out, h->text, h->len);
}

static void json_event(struct dump *d, const struct pugmark_trace_event *e)
{
	struct outbuf *out = d->out;
	bool call = e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL;
	uint64_t goroutine = trace_view_goroutine(&d->view, d->task);
	bool moves = goroutine && e->kind == PUGMARK_TRACE_SWITCH;
	outbuf_text(out, goroutine ? "{\"goroutine\":" : "{\"tid\":");
	outbuf_dec(out, goroutine ? goroutine : (uint64_t)d->view.tasks[d->task].tid);
	outbuf_json(out, ",\"event\":", moves ? "thread" : kinds[e->kind]);
	if (moves) {
		outbuf_json_dec(out, ",\"tid\":", e->addr);
	} else if (e->kind == PUGMARK_TRACE_SWITCH) {
		outbuf_json_dec(out, ",\"stack\":", e->func);
		if (e->target)
			outbuf_json_dec(out, ",\"goroutine\":", e->target);
	} else if (e->kind != PUGMARK_TRACE_GAP) {
		outbuf_json(out,
			    ",\"module\":", pugmark_trace_module_name(d->view.trace, e->module));
		outbuf_json_hex(out, call ? ",\"site\":" : ",\"address\":", e->addr);
	} else {
		outbuf_json_dec(out, ",\"lost\":", e->lost);
	}
	if (call && e->target) {
		outbuf_json(out, ",\"target_module\":",
			    pugmark_trace_module_name(d->view.trace, e->target_module));
		outbuf_json_hex(out, ",\"target\":", e->target);
	}
	if (e->kind == PUGMARK_TRACE_VALUE) {
		static const char *const of[] = {"passed", "taken", "returned", "read", "out"};
		outbuf_json(out, ",\"of\":", of[e->cause]);
		outbuf_json_dec(out, ",\"number\":", e->func);
		outbuf_json_hex(out, ",\"value\":", e->target);
	}
	if (e->kind < PUGMARK_TRACE_GAP && e->func != PUGMARK_NONE)
		outbuf_json(out, ",\"function\":",
			    pugmark_trace_func_name(d->view.trace,
						    call ? e->target_module : e->module, e->func));
	if (call && *e->import)
		outbuf_json(out, ",\"import\":", e->import);
	if (e->kind == PUGMARK_TRACE_ENTER || e->kind == PUGMARK_TRACE_GAP)
		outbuf_json(out, ",\"cause\":", trace_view_cause(e->cause));
	struct made_code from;
	if (e->kind == PUGMARK_TRACE_ENTER &&
	    made_code_find(&d->view, d->task, e->outside, e->to_ns, &from))
		made_code_json(out, &from);
	outbuf_json_dec(out, ",\"depth\":", e->depth);
	if (d->view.info->times)
		json_times(d, e);
	outbuf_text(out, "}\n");
}

static const struct dump_format formats[] = {
	{"text", text_event},
	{"ndjson", json_event},
};

/* ---- what is shown ---- */

static bool wanted(const struct dump *d, const struct pugmark_trace_event *e)
{
	const struct trace_view *v = &d->view;
	if (!trace_view_has_time(v, e))
		return false;
	switch (e->kind) {
	case PUGMARK_TRACE_GAP:
		return true;
	case PUGMARK_TRACE_SWITCH:
		return !v->funcs;
	case PUGMARK_TRACE_CALL:
	case PUGMARK_TRACE_TAIL:
		return trace_view_has_callee(v, e);
	case PUGMARK_TRACE_BLOCK:
	case PUGMARK_TRACE_VALUE:
		return trace_view_has_module(v, e->module);
	default:
		return trace_view_has_func(v, e->module, e->func);
	}
}

/* Takes one event; false where nothing more is to be. */
static inline bool dump_event(struct dump *d, const struct pugmark_trace_event *e, bool all)
{
	const struct trace_view *v = &d->view;
	/* Events are in order, except those of a handler and of what it interrupted. */
	if (v->timed && e->from_ns > v->to_ns && e->kind != PUGMARK_TRACE_GAP)
		return false;
	if (!all && !wanted(d, e))
		return true;
	d->gaps += e->kind == PUGMARK_TRACE_GAP;
	d->events += e->kind <= PUGMARK_TRACE_RET;
	if (!d->count_only)
		d->format->event(d, e);
	return !d->out->failed;
}

/* Takes @n events of which only their number is wanted. */
static void count_events(struct dump *d, const struct pugmark_trace_event *e, uint32_t n)
{
	uint64_t gaps = 0, events = 0;
	for (const struct pugmark_trace_event *end = e + n; e < end; e++) {
		gaps += e->kind == PUGMARK_TRACE_GAP;
		events += e->kind <= PUGMARK_TRACE_RET;
	}
	d->gaps += gaps;
	d->events += events;
}

/* The next events; one by one where they may end in between, since --count says how many witnesses
 * were read for those that it counts. */
static int next_events(const struct dump *d, struct pugmark_trace_iter *it,
		       const struct pugmark_trace_event **e, uint32_t *n)
{
	*n = 1;
	return d->view.timed ? pugmark_trace_next(it, e) : pugmark_trace_batch(it, e, n);
}

static int dump_task(struct dump *d, uint32_t task, struct pugmark_trace_iter *it)
{
	const struct pugmark_trace_event *e;
	const struct trace_view *v = &d->view;
	bool all = !v->funcs && !v->timed && !v->modules.n, more = true;
	d->task = task;
	trace_view_who(v, task, d->who);
	make_heads(d);
	int got;
	uint32_t n;
	while (more && (got = next_events(d, it, &e, &n)) == 1) {
		if (all && d->count_only)
			count_events(d, e, n);
		else
			for (; n && (more = dump_event(d, e, all)); n--)
				e++;
	}
	d->witnesses += pugmark_trace_witnesses(it);
	return got < 0 ? got : 0;
}

static int dump_all(struct dump *d, struct pugmark_diag *diag)
{
	for (uint32_t i = 0; i < d->view.n_tasks && !d->out->failed; i++) {
		struct pugmark_trace_iter *it;
		if (!trace_view_has_task(&d->view, i))
			continue;
		int err = pugmark_trace_iter_new(d->view.trace, i, &it);
		if (!err) {
			err = dump_task(d, i, it);
			pugmark_trace_iter_free(it);
		}
		if (err)
			return trace_view_task_failed(&d->view, i, err, diag);
	}
	if (d->count_only && d->view.lines) /* a witness may be of several */
		outbuf_format(d->out, "events %llu gaps %llu\n", (unsigned long long)d->events,
			      (unsigned long long)d->gaps);
	else if (d->count_only)
		outbuf_format(d->out, "events %llu witnesses %llu gaps %llu\n",
			      (unsigned long long)d->events, (unsigned long long)d->witnesses,
			      (unsigned long long)d->gaps);
	return 0;
}

/* ---- the command ---- */

enum { OPT_COUNT = VIEW_END };

static int own_option(void *ctx, int opt, const char *arg)
{
	struct dump *d = ctx;
	if (opt != OPT_COUNT)
		return trace_view_option(&d->view, opt, arg);
	d->count_only = true;
	return -1;
}

static const struct option options[] = {
	VIEW_OPTIONS_COMMON, VIEW_OPTIONS_FILTER, VIEW_OPTIONS_LINES,
	VIEW_OPTIONS_TIME,   VIEW_OPTIONS_MODULE, {"count", no_argument, NULL, OPT_COUNT},
	{NULL, 0, NULL, 0},
};
const struct command_words dump_words = {.options = options};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct dump *d, int argc, char **argv)
{
	int status = trace_view_parse(&d->view, argc, argv, &dump_words, help, own_option, d);
	if (status >= 0)
		return status;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(d->view.format, formats[i].name))
			d->format = &formats[i];
	if (!d->format)
		return command_usage("dump", "no format '%s' (text, ndjson)", d->view.format);
	return -1;
}

int cmd_dump(int argc, char **argv)
{
	struct dump d = {0};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	trace_view_init(&d.view, "dump", "text");
	int status = parse(&d, argc, argv);
	if (status < 0) {
		d.out = malloc(sizeof(*d.out));
		int err = d.out ? trace_view_open(&d.view, d.view.dir, &diag)
				: pugmark_diag_set(&diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET,
						   "out of memory");
		if (!err) {
			d.heads = calloc(d.view.n_modules + 1, N_KINDS * sizeof(*d.heads));
			if (!d.heads)
				err = trace_view_no_memory(&d.view, &diag);
		}
		if (!err) {
			outbuf_init(d.out, stdout);
			err = dump_all(&d, &diag);
			outbuf_flush(d.out);
		}
		if (!err && !d.events && !d.gaps)
			err = left_out(&d.view, &diag);
		status = err ? command_fail(&diag) : trace_view_status(&d.view, d.gaps);
	}
	free(d.heads);
	free(d.out);
	trace_view_deinit(&d.view);
	return status;
}
