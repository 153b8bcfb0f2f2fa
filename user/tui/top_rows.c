// SPDX-License-Identifier: LGPL-2.1-or-later
/* top_rows.c: the lines of `pugmark top`: a function each, with what it did between the last two
 * looks, and how long its calls took that have ended. */
#include "user/tui/top.h"

#include "user/cli/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const top_order_names[N_TOP_ORDERS] = {
	[TOP_TIME] = "time", [TOP_CALLS] = "calls", [TOP_SLOW] = "99 %", [TOP_NAME] = "name"};

/* What the recorder says of the cost begins so (user/record/cost/forecast.c). */
static const char cost_words[] = "recorder: what is traced takes";

enum { NARROW = 100 }; /* columns: below, the median has no room */

int top_init(struct top *t, struct trace_view *view)
{
	*t = (struct top){.view = view, .release_fd = -1};
	return live_init(&t->live, view);
}

/* ---- which rows, and their order ---- */

static uint64_t calls_of(const struct top *t, uint32_t id)
{
	return t->live.now[id].calls - t->live.before[id].calls;
}

static struct time_bounds self_of(const struct top *t, uint32_t id)
{
	struct time_bounds now = t->live.now[id].self, before = t->live.before[id].self;
	return (struct time_bounds){now.min_ns - before.min_ns, now.max_ns - before.max_ns};
}

static int falling(uint64_t a, uint64_t b)
{
	return a != b ? (a < b ? 1 : -1) : 0;
}

static int falling_bounds(struct time_bounds a, struct time_bounds b)
{
	int order = falling(a.min_ns, b.min_ns);
	return order ? order : falling(a.max_ns, b.max_ns);
}

static const char *name_of(const struct top *t, uint32_t id)
{
	return func_id_name(t->view, &t->live.job.ids.at[id]);
}

static int by_order(const void *a, const void *b, void *ctx)
{
	const struct top_row *x = a, *y = b;
	const struct top *t = ctx;
	int order = 0;
	if (t->order == TOP_NAME)
		order = strcmp(name_of(t, x->id), name_of(t, y->id));
	else if (t->order == TOP_SLOW)
		order = falling_bounds(x->p99, y->p99);
	else if (t->order == TOP_TIME && t->view->info->times)
		order = falling_bounds(self_of(t, x->id), self_of(t, y->id));
	if (!order)
		order = falling(calls_of(t, x->id), calls_of(t, y->id));
	if (!order) /* what is idle now stays where it was */
		order = falling(t->live.now[x->id].calls, t->live.now[y->id].calls);
	return order ? order : (x->id > y->id) - (x->id < y->id);
}

static bool is_shown(const struct top *t, uint32_t i)
{
	const struct func_id *id = &t->live.job.ids.at[i];
	const struct live_func *f = &t->live.now[i];
	if (id->kind == FUNC_START || (!f->calls && !f->self.max_ns))
		return false;
	if (id->kind != FUNC_OF_PLAN && id->kind != FUNC_IMPORT)
		return !t->view->only.n && !t->view->modules.n;
	return trace_view_has_module(t->view, id->module) &&
	       trace_view_match(t->view, id->module, id->func,
				id->kind == FUNC_IMPORT ? id->import : "") == VIEW_MATCHES;
}

static int add_row(struct top *t, uint32_t id)
{
	if (t->n_rows == t->cap_rows) {
		uint32_t cap = 2 * t->cap_rows + 256;
		struct top_row *rows = realloc(t->rows, cap * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		t->rows = rows;
		t->cap_rows = cap;
	}
	struct top_row *row = &t->rows[t->n_rows++];
	*row = (struct top_row){.id = id};
	if (t->order == TOP_SLOW)
		row->p99 = report_quantile(&t->live.took[id], .99);
	return 0;
}

int top_rows_make(struct top *t)
{
	t->n_rows = 0;
	for (uint32_t i = 0; i < t->live.n_ids; i++)
		if (is_shown(t, i) && add_row(t, i))
			return -ENOMEM;
	if (t->n_rows)
		qsort_r(t->rows, t->n_rows, sizeof(*t->rows), by_order, t);
	return 0;
}

/* ---- text ---- */

/* Of one processor: "<3%", "12.0..14.1%". */
static void share_text(char out[32], struct time_bounds t, double seconds)
{
	double low = (double)t.min_ns / seconds / 1e7, high = (double)t.max_ns / seconds / 1e7;
	if (!t.min_ns)
		snprintf(out, 32, "<%.1f%%", high);
	else if (high - low < .05)
		snprintf(out, 32, "%.1f%%", high);
	else
		snprintf(out, 32, "%.1f..%.1f%%", low, high);
}

static void took_text(char out[TIME_BOUNDS_TEXT], const struct report_took *took, double q)
{
	*out = 0;
	if (took->certain.n)
		time_bounds_text(out, report_quantile(took, q));
}

void top_row_text(struct top *t, uint32_t row, unsigned columns, char out[TOP_LINE])
{
	uint32_t id = t->rows[row].id;
	const struct func_id *f = &t->live.job.ids.at[id];
	double seconds = live_seconds(&t->live);
	char rate[32] = "", share[32] = "", name[TOP_LINE / 2];
	char median[TIME_BOUNDS_TEXT], p99[TIME_BOUNDS_TEXT];
	if (seconds > 0) {
		snprintf(rate, sizeof(rate), "%.0f", (double)calls_of(t, id) / seconds);
		share_text(share, self_of(t, id), seconds);
	}
	took_text(median, &t->live.took[id], .5);
	took_text(p99, &t->live.took[id], .99);
	printable_copy(name, sizeof(name), name_of(t, id), PRINT_TEXT);
	int len = snprintf(out, TOP_LINE, "%9s %10llu  %-12s ", rate,
			   (unsigned long long)t->live.now[id].calls, share);
	if (!columns || columns >= NARROW)
		len += snprintf(out + len, TOP_LINE - len, "%-19s ", median);
	snprintf(out + len, TOP_LINE - len, "%-19s %s%s", p99, name,
		 f->kind == FUNC_IMPORT ? " (import)" : "");
}

void top_heading(const struct top *t, unsigned columns, char out[TOP_LINE])
{
	(void)t;
	snprintf(out, TOP_LINE, "%9s %10s  %-12s %s%-19s %s", "calls/s", "calls", "self",
		 !columns || columns >= NARROW ? "median              " : "", "99 %", "function");
}

void top_title(const struct top *t, char out[TOP_LINE])
{
	const struct live *l = &t->live;
	char name[TOP_LINE / 2], gaps[DURATION_TEXT];
	double seconds = live_seconds(l);
	uint32_t threads = l->more ? l->threads : l->shown;
	uint64_t passed = l->time_ns > t->view->start_ns ? l->time_ns - t->view->start_ns : 0;
	printable_copy(name, sizeof(name), t->label ? t->label : t->view->dir, PRINT_TEXT);
	int len =
		snprintf(out, TOP_LINE, "%.200s: %.1f s, %u thread%s, %.0f events/s, ", name,
			 (double)passed / 1e9, threads, threads == 1 ? "" : "s",
			 seconds > 0 ? (double)(l->witnesses - l->witnesses_before) / seconds : 0);
	duration_text(gaps, l->gaps_ns);
	if (l->gaps)
		len += snprintf(out + len, TOP_LINE - len, "%llu gap%s of %s",
				(unsigned long long)l->gaps, l->gaps > 1 ? "s" : "", gaps);
	else
		len += snprintf(out + len, TOP_LINE - len, "no gaps");
	if (!l->more)
		snprintf(out + len, TOP_LINE - len, ", ended");
}

void top_cost(const struct top *t, char out[TOP_LINE])
{
	const char *note = NULL, *n;
	for (uint32_t i = 0; (n = pugmark_recording_note(t->view->rec, i)); i++)
		if (!strncmp(n, cost_words, sizeof(cost_words) - 1))
			note = n + strlen("recorder: ");
	snprintf(out, TOP_LINE, "%s",
		 note		? note
		 : t->live.more ? "what it costs is not known yet"
				: "what it cost was not measured");
}
