// SPDX-License-Identifier: LGPL-2.1-or-later
/* compare.c: see compare.h. Functions are the same where name and module are; the program itself,
 * the first module, may have another file name in the other recording. */
#include "user/view/compare/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	int by = strcmp(x->name, y->name);
	if (!by)
		by = x->main != y->main ? x->main - y->main
		     : x->main		? 0
					: strcmp(x->module, y->module);
	return by ? by : (x->import > y->import) - (x->import < y->import);
}

static struct compare_mean mean(struct time_bounds t, uint64_t calls)
{
	return (struct compare_mean){(double)t.min_ns / (double)calls,
				     (double)t.max_ns / (double)calls};
}

static uint32_t add_side(struct compare_row *rows, uint32_t n, struct trace_view *view,
			 const struct report *report, int side)
{
	for (uint32_t i = 0; i < report->n_funcs; i++) {
		const struct report_func *f = &report->funcs[i];
		if (!f->calls || f->id.kind > FUNC_IMPORT)
			continue;
		struct compare_row *row = &rows[n++];
		*row = (struct compare_row){.import = f->id.kind == FUNC_IMPORT};
		row->name = func_id_name(view, &f->id);
		row->module = pugmark_trace_module_name(view->trace, f->id.module);
		row->main = !f->id.module;
		row->calls[side] = f->calls;
		row->total[side] = mean(f->total, f->calls);
		row->self[side] = mean(f->self, f->calls);
	}
	return n;
}

/* How far the second is above the first (above 0) or below it, at least. */
static double apart(const struct compare_mean of[2])
{
	return of[1].min_ns > of[0].max_ns   ? of[1].min_ns - of[0].max_ns
	       : of[0].min_ns > of[1].max_ns ? of[1].max_ns - of[0].min_ns
					     : 0;
}

static void judge(struct compare_row *row, bool times)
{
	if (!row->calls[0] || !row->calls[1] || !times)
		return;
	double self = apart(row->self), total = apart(row->total);
	double most = self * self > total * total ? self : total;
	row->slower = (most > 0) - (most < 0);
	row->apart_ns = most < 0 ? -most : most;
}

static double weight(const struct compare_row *row)
{
	uint64_t calls = row->calls[0] > row->calls[1] ? row->calls[0] : row->calls[1];
	return row->apart_ns * (double)calls;
}

static int most_first(const void *a, const void *b)
{
	double x = weight(a), y = weight(b);
	return x != y ? (x < y ? 1 : -1) : by_name(a, b);
}

int compare_reports(struct trace_view *const views[2], const struct report *const reports[2],
		    struct compare *out)
{
	uint32_t n = 0, kept = 0;
	struct compare_row *rows =
		calloc(reports[0]->n_funcs + (size_t)reports[1]->n_funcs + 1, sizeof(*rows));
	*out = (struct compare){.rows = rows};
	if (!rows)
		return -ENOMEM;
	for (int side = 0; side < 2; side++)
		n = add_side(rows, n, views[side], reports[side], side);
	qsort(rows, n, sizeof(*rows), by_name);
	for (uint32_t i = 0; i < n; i++) {
		struct compare_row *last = kept ? &rows[kept - 1] : NULL;
		int side = rows[i].calls[1] != 0;
		if (!last || by_name(last, &rows[i]) || last->calls[side]) {
			rows[kept++] = rows[i];
			continue;
		}
		last->calls[side] = rows[i].calls[side];
		last->total[side] = rows[i].total[side];
		last->self[side] = rows[i].self[side];
	}
	for (uint32_t i = 0; i < kept; i++)
		judge(&rows[i], views[0]->info->times && views[1]->info->times);
	qsort(rows, kept, sizeof(*rows), most_first);
	out->n = kept;
	return 0;
}

void compare_deinit(struct compare *compare)
{
	free(compare->rows);
	*compare = (struct compare){0};
}
