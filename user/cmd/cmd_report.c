// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_report.c: `pugmark report`: options, order, and the two formats of what report.c counts. */
#include "user/cli/command.h"
#include "user/cli/outbuf.h"
#include "user/cli/tty.h"
#include "user/page/page.h"
#include "user/view/report.h"
#include "user/view/report_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct report_show {
	struct trace_view view;
	struct report report;
	struct outbuf *out;
	struct tty term;
	const char *callers, *callees; /* the pattern, or NULL */
	uint32_t top;		       /* at most so many functions; 0: all */
	int (*order)(const void *, const void *, void *);
	bool sorted; /* the order was asked for */
	uint32_t *rows, n_rows;
	struct report_wish wish;
	bool distribution;
	bool html;
	const char *output;   /* --html: the file */
	bool lines, coverage; /* source lines instead of functions */
	const char *binary;   /* where the module is now, or NULL */
};

static const char help[] =
	"usage: pugmark report [options] DIR\n"
	"\n"
	"Prints for each function that ran in the recording DIR how often it was called, and the\n"
	"bounds of the time spent in it with all that it called (total) and without (self).\n"
	"      --format text|json   how to print (text); JSON has the callers and callees as well\n"
	"      --sort total|self|calls|name\n"
	"                           the order (total; calls where there are no times)\n"
	"      --top N              only the first N functions\n"
	"      --distribution       of each function's calls the shortest, the median, the 99th "
	"percentile\n"
	"                           and the longest, instead of sums (JSON has both)\n"
	"      --slowest N          the N slowest calls, instead of functions\n"
	"      --longer TIME        of --slowest: only calls that may have taken TIME or longer\n"
	"      --from TIME          only what happened after TIME: from the start in seconds, or a "
	"number\n"
	"                           with s, ms, us or ns; or a time of day, HH:MM:SS\n"
	"      --to TIME            only what happened before TIME\n"
	"      --lines              source lines executed, and how often (of a recording of level\n"
	"                           paths, of a program compiled with -g)\n"
	"      --coverage           the same, and what was not executed, in lcov's format\n"
	"      --binary FILE        for these: where the recorded file is now\n"
	"      --html               a page, in one file that needs nothing else: overview, flame "
	"graph,\n"
	"                           timeline, call tree, functions; with -o FILE\n"
	"  -o, --output FILE        of --html: the file, which must not be there yet\n"
	"      --callers FUNCTION   who called it, how often (a glob, or /regular expression/)\n"
	"      --callees FUNCTION   whom it called, how often\n"
	"  -F, --function PATTERN   only functions that match (repeatable)\n"
	"  -N, --no-function PATTERN\n"
	"                           without functions that match (repeatable)\n"
	"      --module PATTERN     only functions of modules whose name matches (repeatable)\n"
	"      --thread TID         only what that thread did (repeatable)\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0, or 3 where the trace has gaps or is not whole; 1 for an error, 2 for "
	"wrong usage.\n";

/* ---- names and order ---- */

static const char *name_of(struct report_show *s, uint32_t id)
{
	const struct report_func *f = &s->report.funcs[id];
	switch (f->kind) {
	case REPORT_FUNC:
		return trace_view_func_name(&s->view, f->module, f->func);
	case REPORT_IMPORT:
		return f->import;
	case REPORT_OUTSIDE:
		return "[outside]";
	case REPORT_START:
		return "[start]";
	default:
		return "[unknown]";
	}
}

static int by_name(const void *a, const void *b, void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(name_of(ctx, x), name_of(ctx, y));
	return order ? order : (x > y) - (x < y);
}

static int falling(uint64_t x, uint64_t y, const void *a, const void *b, void *ctx)
{
	return x != y ? (x < y ? 1 : -1) : by_name(a, b, ctx);
}

/* By what is certain first, and where nothing is, by what is possible. */
#define ORDER_BY_TIME(field, name)                                                                 \
	static int name(const void *a, const void *b, void *ctx)                                   \
	{                                                                                          \
		const struct report_func *funcs = ((struct report_show *)ctx)->report.funcs;       \
		const struct report_func *x = &funcs[*(const uint32_t *)a];                        \
		const struct report_func *y = &funcs[*(const uint32_t *)b];                        \
		if (x->field.min_ns != y->field.min_ns)                                            \
			return x->field.min_ns < y->field.min_ns ? 1 : -1;                         \
		return falling(x->field.max_ns, y->field.max_ns, a, b, ctx);                       \
	}
#define ORDER_BY(field, name)                                                                      \
	static int name(const void *a, const void *b, void *ctx)                                   \
	{                                                                                          \
		const struct report_func *funcs = ((struct report_show *)ctx)->report.funcs;       \
		return falling(funcs[*(const uint32_t *)a].field,                                  \
			       funcs[*(const uint32_t *)b].field, a, b, ctx);                      \
	}
ORDER_BY(calls, by_calls)
ORDER_BY_TIME(self, by_self)
ORDER_BY_TIME(total, by_total)

static int edges_by_calls(const void *a, const void *b, void *ctx)
{
	const struct report_edge *x = a, *y = b;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	int order = by_name(&x->caller, &y->caller, ctx);
	return order ? order : by_name(&x->callee, &y->callee, ctx);
}

static bool ran(const struct report_func *f)
{
	return f->kind != REPORT_START && (f->calls || f->total.max_ns || f->self.max_ns);
}

static bool is_shown(const struct report_show *s, const struct report_func *f)
{
	if (!ran(f))
		return false;
	const char *import = f->kind == REPORT_IMPORT ? f->import : "";
	bool placed = f->kind == REPORT_FUNC || f->kind == REPORT_IMPORT;
	return placed ? trace_view_has_module(&s->view, f->module) &&
				trace_view_match(&s->view, f->module, f->func, import) ==
					VIEW_MATCHES
		      : !s->view.only.n && !s->view.modules.n;
}

static int choose_rows(struct report_show *s, struct pugmark_diag *diag)
{
	s->rows = calloc(s->report.n_funcs + 1, sizeof(*s->rows));
	if (!s->rows)
		return trace_view_no_memory(&s->view, diag);
	for (uint32_t i = 0; i < s->report.n_funcs; i++)
		if (is_shown(s, &s->report.funcs[i]))
			s->rows[s->n_rows++] = i;
	if (!s->view.info->times && s->sorted && (s->order == by_total || s->order == by_self))
		return pugmark_diag_set(diag, -EINVAL, s->view.dir, PUGMARK_NO_OFFSET,
					"it was recorded without times: --sort total and self have "
					"nothing to go by");
	if (!s->sorted && !s->view.info->times)
		s->order = by_calls;
	qsort_r(s->rows, s->n_rows, sizeof(*s->rows), s->order, s);
	qsort_r(s->report.edges, s->report.n_edges, sizeof(*s->report.edges), edges_by_calls, s);
	if (s->top && s->n_rows > s->top)
		s->n_rows = s->top;
	return 0;
}

/* ---- text ---- */

enum { CALLS_WIDTH = 12, BOUNDS_WIDTH = 20 };

static void put_bounds(struct report_show *s, struct time_bounds t)
{
	if (!s->view.info->times)
		return;
	unsigned len = 0;
	outbuf_text(s->out, "  ");
	if (!t.min_ns && t.max_ns) {
		outbuf_char(s->out, '<');
		len = 1;
	} else if (t.min_ns != t.max_ns) {
		len = outbuf_duration(s->out, t.min_ns) + 2;
		outbuf_text(s->out, "..");
	}
	len += outbuf_duration(s->out, t.max_ns);
	outbuf_spaces(s->out, len < BOUNDS_WIDTH ? BOUNDS_WIDTH - len : 0);
}

static void put_name(struct report_show *s, uint32_t id)
{
	const struct report_func *f = &s->report.funcs[id];
	bool placed = f->kind == REPORT_FUNC || f->kind == REPORT_IMPORT;
	outbuf_text(s->out, "  ");
	if (s->view.n_modules > 1 && placed) {
		outbuf_safe_text(s->out, pugmark_trace_module_name(s->view.trace, f->module));
		outbuf_char(s->out, ':');
	}
	outbuf_safe_text(s->out, name_of(s, id));
	if (f->kind == REPORT_IMPORT)
		outbuf_text(s->out, " (import)");
	outbuf_char(s->out, '\n');
}

static void put_heading(struct report_show *s, bool self, const char *what)
{
	outbuf_text(s->out, tty_style(&s->term, STYLE_DIM));
	outbuf_format(s->out, "%*s", CALLS_WIDTH, "calls");
	if (s->view.info->times) {
		outbuf_format(s->out, "  %-*s", BOUNDS_WIDTH, "total");
		if (self)
			outbuf_format(s->out, "  %-*s", BOUNDS_WIDTH, "self");
	}
	outbuf_format(s->out, "  %s%s\n", what, tty_style(&s->term, STYLE_NONE));
}

static void put_spread_heading(struct report_show *s)
{
	static const char *const columns[] = {"shortest", "median", "99 %", "longest"};
	outbuf_text(s->out, tty_style(&s->term, STYLE_DIM));
	outbuf_format(s->out, "%*s", CALLS_WIDTH, "calls");
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		outbuf_format(s->out, "  %-*s", BOUNDS_WIDTH, columns[i]);
	outbuf_format(s->out, "  function%s\n", tty_style(&s->term, STYLE_NONE));
}

static void put_calls(struct report_show *s, uint64_t calls)
{
	outbuf_format(s->out, "%*llu", CALLS_WIDTH, (unsigned long long)calls);
}

/* Calls that have ended: of the others it is not known how long they take. */
static void text_distribution(struct report_show *s)
{
	put_spread_heading(s);
	for (uint32_t i = 0; i < s->n_rows; i++) {
		const struct report_spread *spread = &s->report.funcs[s->rows[i]].spread;
		if (!spread->calls)
			continue;
		put_calls(s, spread->calls);
		put_bounds(s, spread->min);
		put_bounds(s, spread->median);
		put_bounds(s, spread->p99);
		put_bounds(s, spread->max);
		put_name(s, s->rows[i]);
	}
}

static void text_slowest(struct report_show *s)
{
	outbuf_format(s->out, "%s%12s  %9s  %7s  %-*s  function%s\n",
		      tty_style(&s->term, STYLE_DIM), "start", "within", "thread", BOUNDS_WIDTH,
		      "took", tty_style(&s->term, STYLE_NONE));
	for (uint32_t i = 0; i < s->report.n_slow; i++) {
		const struct report_slow *slow = &s->report.slow[i];
		uint64_t start =
			slow->from_ns > s->view.start_ns ? slow->from_ns - s->view.start_ns : 0;
		outbuf_format(s->out, "%12.6f  ", (double)start / 1e9);
		outbuf_char(s->out, '+');
		unsigned len = outbuf_duration(s->out, slow->to_ns - slow->from_ns);
		outbuf_spaces(s->out, len < 8 ? 8 - len : 0);
		outbuf_format(s->out, "  %7d", s->view.tasks[slow->task].tid);
		put_bounds(s, slow->took);
		if (slow->open)
			outbuf_text(s->out, "  (still open)");
		put_name(s, slow->id);
	}
}

static void text_table(struct report_show *s)
{
	put_heading(s, true, "function");
	for (uint32_t i = 0; i < s->n_rows; i++) {
		const struct report_func *f = &s->report.funcs[s->rows[i]];
		put_calls(s, f->calls);
		put_bounds(s, f->total);
		put_bounds(s, f->self);
		put_name(s, s->rows[i]);
	}
}

/* The edges at @id: those into it, or those out of it. */
static void text_edges(struct report_show *s, uint32_t id, bool into)
{
	const struct report_func *f = &s->report.funcs[id];
	outbuf_text(s->out, tty_style(&s->term, STYLE_BOLD));
	outbuf_safe_text(s->out, name_of(s, id));
	outbuf_text(s->out, tty_style(&s->term, STYLE_NONE));
	outbuf_format(s->out, ": %llu call%s%s\n", (unsigned long long)f->calls,
		      f->calls == 1 ? "" : "s", into ? ", by" : "; it called");
	put_heading(s, false, into ? "caller" : "callee");
	for (uint32_t i = 0; i < s->report.n_edges; i++) {
		const struct report_edge *e = &s->report.edges[i];
		if ((into ? e->callee : e->caller) != id)
			continue;
		put_calls(s, e->calls);
		put_bounds(s, e->total);
		put_name(s, into ? e->caller : e->callee);
	}
}

static int text_around(struct report_show *s, const char *text, bool into,
		       struct pugmark_diag *diag)
{
	struct patterns pattern = {0};
	int err = patterns_add(&pattern, text, diag);
	bool any = false;
	for (uint32_t i = 0; i < s->report.n_funcs && !err; i++) {
		const struct report_func *f = &s->report.funcs[i];
		bool placed = f->kind == REPORT_FUNC || f->kind == REPORT_IMPORT;
		const char *name =
			f->kind == REPORT_FUNC
				? pugmark_trace_func_name(s->view.trace, f->module, f->func)
				: name_of(s, i);
		if (!ran(f) || !placed || patterns_match(&pattern, name, NULL) < 0)
			continue;
		text_edges(s, i, into);
		any = true;
	}
	patterns_deinit(&pattern);
	if (!err && !any)
		err = pugmark_diag_set(diag, -ENOENT, s->view.dir, PUGMARK_NO_OFFSET,
				       "no function that ran in it matches '%s'", text);
	return err;
}

static int text_report(struct report_show *s, struct pugmark_diag *diag)
{
	int err = 0;
	if (s->callers)
		err = text_around(s, s->callers, true, diag);
	if (s->callees && !err)
		err = text_around(s, s->callees, false, diag);
	if (s->wish.slowest)
		text_slowest(s);
	else if (s->distribution)
		text_distribution(s);
	else if (!s->callers && !s->callees)
		text_table(s);
	if (s->report.gaps && !err) {
		outbuf_format(s->out, "%llu gap%s", (unsigned long long)s->report.gaps,
			      s->report.gaps > 1 ? "s" : "");
		if (s->view.info->times) {
			outbuf_text(s->out, " of ");
			outbuf_duration(s->out, s->report.in_gaps.max_ns);
			outbuf_text(s->out, " in all");
		}
		outbuf_text(s->out, ": what ran in them is not counted (see: pugmark verify)\n");
	}
	return err;
}

/* ---- JSON ---- */

static void json_bounds(struct report_show *s, const char *key, struct time_bounds t)
{
	if (s->view.info->times)
		outbuf_format(s->out, ",\"%s\":[%llu,%llu]", key, (unsigned long long)t.min_ns,
			      (unsigned long long)t.max_ns);
}

static void json_spread(struct report_show *s, const struct report_spread *spread)
{
	if (!s->view.info->times || !spread->calls)
		return;
	outbuf_format(s->out, ",\"durations_ns\":{\"calls\":%llu",
		      (unsigned long long)spread->calls);
	json_bounds(s, "min", spread->min);
	json_bounds(s, "median", spread->median);
	json_bounds(s, "p99", spread->p99);
	json_bounds(s, "max", spread->max);
	outbuf_char(s->out, '}');
}

/* What identifies a function: its name, and where it is. */
static void json_identity(struct report_show *s, uint32_t id)
{
	const struct report_func *f = &s->report.funcs[id];
	outbuf_text(s->out, "\"function\":\"");
	outbuf_json_text(s->out, name_of(s, id));
	outbuf_char(s->out, '"');
	if (f->kind == REPORT_FUNC) {
		const struct pugmark_plan *plan = pugmark_trace_plan(s->view.trace, f->module);
		outbuf_text(s->out, ",\"module\":\"");
		outbuf_json_text(s->out, pugmark_trace_module_name(s->view.trace, f->module));
		outbuf_format(s->out, "\",\"address\":\"%llx\"",
			      (unsigned long long)plan->funcs[f->func].addr);
	} else if (f->kind == REPORT_IMPORT) {
		outbuf_text(s->out, ",\"import\":true");
	}
}

/* Edges of each function, so that JSON need not look at all of them for each. */
struct edge_index {
	uint32_t *first; /* per function: its run in of[]; one more at the end */
	uint32_t *of;	 /* edges */
};

static int index_edges(const struct report *r, bool into, struct edge_index *out)
{
	out->first = calloc(r->n_funcs + 2, sizeof(*out->first));
	out->of = calloc(r->n_edges + 1, sizeof(*out->of));
	if (!out->first || !out->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_edges; i++)
		out->first[(into ? r->edges[i].callee : r->edges[i].caller) + 2]++;
	for (uint32_t i = 2; i < r->n_funcs + 2; i++)
		out->first[i] += out->first[i - 1];
	for (uint32_t i = 0; i < r->n_edges; i++)
		out->of[out->first[(into ? r->edges[i].callee : r->edges[i].caller) + 1]++] = i;
	return 0;
}

static void json_edges(struct report_show *s, const struct edge_index *index, uint32_t id,
		       bool into)
{
	outbuf_text(s->out, into ? ",\"callers\":[" : ",\"callees\":[");
	for (uint32_t i = index->first[id]; i < index->first[id + 1]; i++) {
		const struct report_edge *e = &s->report.edges[index->of[i]];
		outbuf_text(s->out, i == index->first[id] ? "{" : ",{");
		json_identity(s, into ? e->caller : e->callee);
		outbuf_format(s->out, ",\"calls\":%llu", (unsigned long long)e->calls);
		json_bounds(s, "total_ns", e->total);
		outbuf_char(s->out, '}');
	}
	outbuf_char(s->out, ']');
}

static void json_slowest(struct report_show *s)
{
	uint64_t start = s->view.start_ns;
	outbuf_text(s->out, "\"slowest\":[");
	for (uint32_t i = 0; i < s->report.n_slow; i++) {
		const struct report_slow *slow = &s->report.slow[i];
		outbuf_text(s->out, i ? ",\n{" : "\n{");
		json_identity(s, slow->id);
		outbuf_format(s->out, ",\"thread\":%d,\"open\":%s", s->view.tasks[slow->task].tid,
			      slow->open ? "true" : "false");
		json_bounds(s, "start_ns",
			    (struct time_bounds){slow->from_ns > start ? slow->from_ns - start : 0,
						 slow->to_ns > start ? slow->to_ns - start : 0});
		json_bounds(s, "took_ns", slow->took);
		outbuf_char(s->out, '}');
	}
	outbuf_text(s->out, "],\n");
}

static int json_report(struct report_show *s, struct pugmark_diag *diag)
{
	struct edge_index into = {0}, out_of = {0};
	if (index_edges(&s->report, true, &into) || index_edges(&s->report, false, &out_of)) {
		free(into.first);
		free(into.of);
		free(out_of.first);
		free(out_of.of);
		return trace_view_no_memory(&s->view, diag);
	}
	outbuf_format(
		s->out, "{\"calls\":%llu,\"witness_events\":%llu,\"gaps\":%llu,\"gaps_ns\":%llu,",
		(unsigned long long)s->report.calls, (unsigned long long)s->report.witnesses,
		(unsigned long long)s->report.gaps, (unsigned long long)s->report.in_gaps.max_ns);
	if (s->wish.slowest)
		json_slowest(s);
	outbuf_text(s->out, "\"functions\":[\n");
	for (uint32_t i = 0; i < s->n_rows; i++) {
		const struct report_func *f = &s->report.funcs[s->rows[i]];
		outbuf_text(s->out, i ? ",\n{" : "{");
		json_identity(s, s->rows[i]);
		outbuf_format(s->out, ",\"calls\":%llu", (unsigned long long)f->calls);
		json_bounds(s, "total_ns", f->total);
		json_bounds(s, "self_ns", f->self);
		json_spread(s, &f->spread);
		json_edges(s, &into, s->rows[i], true);
		json_edges(s, &out_of, s->rows[i], false);
		outbuf_char(s->out, '}');
	}
	outbuf_text(s->out, "]}\n");
	free(into.first);
	free(into.of);
	free(out_of.first);
	free(out_of.of);
	return 0;
}

/* ---- the command ---- */

enum {
	OPT_SORT = VIEW_END,
	OPT_TOP,
	OPT_CALLERS,
	OPT_CALLEES,
	OPT_LINES,
	OPT_COVERAGE,
	OPT_BINARY,
	OPT_DISTRIBUTION,
	OPT_SLOWEST,
	OPT_LONGER,
	OPT_HTML,
};

static int own_option(void *ctx, int opt, const char *arg)
{
	struct report_show *s = ctx;
	static const struct {
		const char *name;
		int (*order)(const void *, const void *, void *);
	} orders[] = {
		{"total", by_total}, {"self", by_self}, {"calls", by_calls}, {"name", by_name}};
	char *end;
	unsigned long n;
	switch (opt) {
	case OPT_SORT:
		for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
			if (!strcmp(arg, orders[i].name)) {
				s->order = orders[i].order;
				s->sorted = true;
				return -1;
			}
		return command_usage("report", "no order '%s' (total, self, calls, name)", arg);
	case OPT_TOP:
		n = strtoul(arg, &end, 10);
		if (end == arg || *end || !n || n > UINT32_MAX || *arg == '-')
			return command_usage("report", "'%s' is not a number of functions", arg);
		s->top = (uint32_t)n;
		return -1;
	case OPT_CALLERS:
		s->callers = arg;
		return -1;
	case OPT_CALLEES:
		s->callees = arg;
		return -1;
	case OPT_LINES:
		s->lines = true;
		return -1;
	case OPT_COVERAGE:
		s->coverage = true;
		return -1;
	case OPT_BINARY:
		s->binary = arg;
		return -1;
	case OPT_DISTRIBUTION:
		s->distribution = true;
		return -1;
	case OPT_SLOWEST:
		return trace_view_number(&s->view, arg, 1000000, &s->wish.slowest);
	case OPT_HTML:
		s->html = true;
		return -1;
	case 'o':
		s->output = arg;
		return -1;
	case OPT_LONGER:
		return trace_view_duration(&s->view, arg, &s->wish.longer_ns);
	default:
		return trace_view_option(&s->view, opt, arg);
	}
}

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct report_show *s, int argc, char **argv)
{
	static const struct option options[] = {
		VIEW_OPTIONS_COMMON,
		VIEW_OPTIONS_FILTER,
		VIEW_OPTIONS_TIME,
		VIEW_OPTIONS_MODULE,
		{"distribution", no_argument, NULL, OPT_DISTRIBUTION},
		{"slowest", required_argument, NULL, OPT_SLOWEST},
		{"longer", required_argument, NULL, OPT_LONGER},
		{"html", no_argument, NULL, OPT_HTML},
		{"output", required_argument, NULL, 'o'},
		{"sort", required_argument, NULL, OPT_SORT},
		{"top", required_argument, NULL, OPT_TOP},
		{"callers", required_argument, NULL, OPT_CALLERS},
		{"callees", required_argument, NULL, OPT_CALLEES},
		{"lines", no_argument, NULL, OPT_LINES},
		{"coverage", no_argument, NULL, OPT_COVERAGE},
		{"binary", required_argument, NULL, OPT_BINARY},
		{NULL, 0, NULL, 0},
	};
	int status = trace_view_parse(&s->view, argc, argv, options, help, own_option, s);
	if (status >= 0)
		return status;
	if (strcmp(s->view.format, "text") && strcmp(s->view.format, "json"))
		return command_usage("report", "no format '%s' (text, json)", s->view.format);
	if (!strcmp(s->view.format, "json") && (s->callers || s->callees))
		return command_usage("report", "JSON has all callers and callees: no --callers, "
					       "no --callees");
	if (s->lines && s->coverage)
		return command_usage("report", "either --lines or --coverage");
	if (s->coverage && !strcmp(s->view.format, "json"))
		return command_usage("report", "--coverage has a format of its own");
	if (s->wish.longer_ns && !s->wish.slowest)
		return command_usage("report", "--longer goes with --slowest");
	if (s->html != !!s->output)
		return command_usage("report",
				     s->html ? "--html: where to? -o FILE" : "-o goes with --html");
	if (s->html + !!s->wish.slowest + s->distribution + (s->lines || s->coverage) +
		    (s->callers || s->callees) >
	    1)
		return command_usage("report", "one of --html, --slowest, --distribution, --lines, "
					       "--coverage, --callers and --callees");
	if (s->binary && !s->lines && !s->coverage)
		return command_usage("report", "--binary goes with --lines or --coverage");
	return -1;
}

static int check_times(const struct report_show *s, struct pugmark_diag *diag)
{
	if (s->view.info->times || s->html || !(s->wish.slowest || s->distribution))
		return 0;
	return pugmark_diag_set(diag, -ENODATA, s->view.dir, PUGMARK_NO_OFFSET,
				"it was recorded without times: --slowest and --distribution have "
				"nothing to go by");
}

/* The page walks the trace once more, for the timeline and the stacks of calls. */
static int html_report(struct report_show *s, struct pugmark_diag *diag)
{
	const struct page_about about = {.report = &s->report};
	struct export x = {
		.format = &page_format, .output = s->output, .about = &about, .diag = diag};
	x.weigh_calls = !s->view.info->times;
	x.replay.view = s->view; /* lent: the names that it makes are its own */
	x.replay.out = s->out;
	outbuf_init(s->out, stdout);
	int err = export_run(&x, diag);
	s->view = x.replay.view;
	export_deinit(&x);
	return err;
}

static int report(struct report_show *s, struct pugmark_diag *diag)
{
	if (s->html)
		s->wish.slowest = PAGE_SLOWEST;
	int err = trace_view_open(&s->view, s->view.dir, diag);
	if (!err && (s->lines || s->coverage)) {
		outbuf_init(s->out, stdout);
		err = report_lines(&s->view, s->binary,
				   s->coverage			    ? LINES_LCOV
				   : strcmp(s->view.format, "json") ? LINES_TEXT
								    : LINES_JSON,
				   s->out, &s->report.gaps, diag);
		if (!err)
			outbuf_flush(s->out);
		return err;
	}
	if (!err)
		err = check_times(s, diag);
	if (!err)
		err = report_collect(&s->view, &s->wish, &s->report, diag);
	if (!err && s->html)
		return html_report(s, diag);
	if (!err)
		err = choose_rows(s, diag);
	if (err)
		return err;
	outbuf_init(s->out, stdout);
	err = strcmp(s->view.format, "json") ? text_report(s, diag) : json_report(s, diag);
	outbuf_flush(s->out);
	return err;
}

int cmd_report(int argc, char **argv)
{
	struct report_show s = {.term = tty_of(STDOUT_FILENO), .order = by_total};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	trace_view_init(&s.view, "report", "text");
	int status = parse(&s, argc, argv);
	if (status < 0) {
		s.out = malloc(sizeof(*s.out));
		int err = s.out ? report(&s, &diag) : trace_view_no_memory(&s.view, &diag);
		status = err ? command_fail(&diag) : trace_view_status(&s.view, s.report.gaps);
	}
	free(s.out);
	free(s.rows);
	report_deinit(&s.report);
	trace_view_deinit(&s.view);
	return status;
}
