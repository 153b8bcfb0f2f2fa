// SPDX-License-Identifier: LGPL-2.1-or-later
/* report_text.c: a report for people: a table of functions, of durations, of the slowest calls, or
 * of who called one. */
#include "user/cli/printable.h"
#include "user/view/report/deaths_text.h"
#include "user/view/report/report_show.h"
#include "user/view/report/untraced.h"
#include "user/view/trace/hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_WIDTH = 12, BOUNDS_WIDTH = 20 };

static void put_bounds(struct report_show *s, struct time_bounds t)
{
	if (!s->view.info->times)
		return;
	outbuf_text(s->out, "  ");
	unsigned len = outbuf_bounds(s->out, t);
	outbuf_spaces(s->out, len < BOUNDS_WIDTH ? BOUNDS_WIDTH - len : 0);
}

static void put_name(struct report_show *s, uint32_t id)
{
	const struct report_func *f = &s->report.funcs[id];
	bool placed = f->id.kind == FUNC_OF_PLAN || f->id.kind == FUNC_IMPORT;
	outbuf_text(s->out, "  ");
	if (s->view.n_modules > 1 && placed) {
		outbuf_safe_text(s->out, pugmark_trace_module_name(s->view.trace, f->id.module));
		outbuf_char(s->out, ':');
	}
	outbuf_safe_text(s->out, report_show_name(s, id));
	if (f->id.kind == FUNC_IMPORT)
		outbuf_text(s->out, " (import)");
	char hint[HINT_BYTES];
	func_hint(&s->view, f->id.module, f->id.kind == FUNC_OF_PLAN ? f->id.func : PUGMARK_NONE,
		  hint);
	if (*hint) {
		outbuf_text(s->out, " (");
		outbuf_safe_text(s->out, hint);
		outbuf_char(s->out, ')');
	}
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

/* Only calls that have ended: how long the others take is not known. */
static void text_distribution(struct report_show *s)
{
	if (!s->n_rows) {
		outbuf_text(s->out, "no call ended while it was recorded\n");
		return;
	}
	put_spread_heading(s);
	for (uint32_t i = 0; i < s->n_rows; i++) {
		const struct report_spread *spread = &s->report.funcs[s->rows[i]].spread;
		put_calls(s, spread->calls);
		put_bounds(s, spread->min);
		put_bounds(s, spread->median);
		put_bounds(s, spread->p99);
		put_bounds(s, spread->max);
		put_name(s, s->rows[i]);
	}
}

static void text_outliers(struct report_show *s)
{
	if (!s->n_rows) {
		outbuf_format(s->out,
			      "no call certainly took %d times the median of its function\n",
			      REPORT_OUTLIER);
		return;
	}
	outbuf_format(s->out, "%s%*s%*s  %-*s  %-*s  %-*s  function%s\n",
		      tty_style(&s->term, STYLE_DIM), CALLS_WIDTH, "calls", CALLS_WIDTH, "outliers",
		      BOUNDS_WIDTH, "these took at least", BOUNDS_WIDTH, "median", BOUNDS_WIDTH,
		      "longest", tty_style(&s->term, STYLE_NONE));
	for (uint32_t i = 0; i < s->n_rows; i++) {
		const struct report_spread *spread = &s->report.funcs[s->rows[i]].spread;
		put_calls(s, spread->calls);
		put_calls(s, spread->outliers);
		put_bounds(s, (struct time_bounds){spread->outliers_ns, spread->outliers_ns});
		put_bounds(s, spread->median);
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
		char who[VIEW_WHO_BYTES];
		trace_view_who(&s->view, slow->task, who);
		outbuf_format(s->out, "  %7s", who);
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
	outbuf_safe_text(s->out, report_show_name(s, id));
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
		bool placed = f->id.kind == FUNC_OF_PLAN || f->id.kind == FUNC_IMPORT;
		const char *name =
			f->id.kind == FUNC_OF_PLAN
				? pugmark_trace_func_name(s->view.trace, f->id.module, f->id.func)
				: report_show_name(s, i);
		if (!report_show_ran(f) || !placed || patterns_match(&pattern, name, NULL) < 0)
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

/* What could be seen by tracing one more file. */
static void put_shell_word(struct outbuf *out, const char *text)
{
	char *word = printable_dup(text, PRINT_SHELL);
	outbuf_text(out, word ? word : "?");
	free(word);
}

static void tell_untraced(struct report_show *s)
{
	struct untraced most;
	const struct trace_view *v = &s->view;
	bool all = !v->timed && !v->only.n && !v->without.n && !v->modules.n && !v->only_module;
	if (!all || !v->info->times || !untraced_most(v, &s->report, &most))
		return;
	outbuf_format(s->out, "up to %u %% of the time %s in ", most.percent,
		      most.certain ? "lies" : "may lie");
	outbuf_safe_text(s->out, most.library);
	outbuf_text(s->out, " (");
	outbuf_safe_text(s->out, report_show_name(s, most.func));
	outbuf_text(s->out, "), which is not traced: record with --module ");
	put_shell_word(s->out, most.library);
	outbuf_char(s->out, '\n');
}

/* Which functions hide each other, and how to tell them apart. */
static void tell_untold(struct report_show *s)
{
	const struct trace_view *v = &s->view;
	uint32_t funcs[UNTOLD_MAX];
	unsigned percent;
	bool all = !v->timed && !v->only.n && !v->without.n && !v->modules.n && !v->only_module;
	uint32_t n = all && v->info->times ? untold_most(&s->report, funcs, &percent) : 0;
	if (!n)
		return;
	outbuf_format(s->out,
		      "up to %u %% of the time may be in any of these %u, which no witness tells "
		      "apart: record with",
		      percent, n);
	for (uint32_t i = 0; i < n; i++) {
		outbuf_text(s->out, " --time-of ");
		put_shell_word(s->out, func_id_name(&s->view, &s->report.funcs[funcs[i]].id));
	}
	outbuf_char(s->out, '\n');
}

int report_show_text(struct report_show *s, struct pugmark_diag *diag)
{
	int err = 0;
	if (s->callers)
		err = text_around(s, s->callers, true, diag);
	if (s->callees && !err)
		err = text_around(s, s->callees, false, diag);
	if (s->wish.slowest)
		text_slowest(s);
	else if (s->outliers)
		text_outliers(s);
	else if (s->distribution)
		text_distribution(s);
	else if (!s->callers && !s->callees) {
		text_table(s);
		tell_untraced(s);
		tell_untold(s);
	}
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
	if (!err)
		deaths_text(&s->view, s->out);
	return err;
}
