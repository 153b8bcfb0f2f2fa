// SPDX-License-Identifier: LGPL-2.1-or-later
/* report_show.c: which functions a report shows, and in which order. */
#include "user/view/report/report_show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const report_order_names[N_REPORT_ORDERS] = {[ORDER_TOTAL] = "total",
							 [ORDER_SELF] = "self",
							 [ORDER_CALLS] = "calls",
							 [ORDER_NAME] = "name"};

const char *report_show_name(struct report_show *s, uint32_t id)
{
	return func_id_name(&s->view, &s->report.funcs[id].id);
}

static int by_name(const void *a, const void *b, void *ctx)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(report_show_name(ctx, x), report_show_name(ctx, y));
	return order ? order : (x > y) - (x < y);
}

static int falling(uint64_t x, uint64_t y, const void *a, const void *b, void *ctx)
{
	return x != y ? (x < y ? 1 : -1) : by_name(a, b, ctx);
}

/* Orders by the lower bounds, and where these are equal by the upper ones. */
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

static int by_outliers(const void *a, const void *b, void *ctx)
{
	const struct report_func *funcs = ((struct report_show *)ctx)->report.funcs;
	return falling(funcs[*(const uint32_t *)a].spread.outliers_ns,
		       funcs[*(const uint32_t *)b].spread.outliers_ns, a, b, ctx);
}

static int edges_by_calls(const void *a, const void *b, void *ctx)
{
	const struct report_edge *x = a, *y = b;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	int order = by_name(&x->caller, &y->caller, ctx);
	return order ? order : by_name(&x->callee, &y->callee, ctx);
}

bool report_show_ran(const struct report_func *f)
{
	return f->id.kind != FUNC_START && (f->calls || f->total.max_ns || f->self.max_ns);
}

static bool is_shown(const struct report_show *s, const struct report_func *f)
{
	if (!report_show_ran(f))
		return false;
	const char *import = f->id.kind == FUNC_IMPORT ? f->id.import : "";
	bool placed = f->id.kind == FUNC_OF_PLAN || f->id.kind == FUNC_IMPORT;
	return placed ? trace_view_has_module(&s->view, f->id.module) &&
				trace_view_match(&s->view, f->id.module, f->id.func, import) ==
					VIEW_MATCHES
		      : !s->view.only.n && !s->view.modules.n;
}

static int (*const orders[])(const void *, const void *, void *) = {[ORDER_TOTAL] = by_total,
								    [ORDER_SELF] = by_self,
								    [ORDER_CALLS] = by_calls,
								    [ORDER_NAME] = by_name};

int report_show_rows(struct report_show *s, struct pugmark_diag *diag)
{
	s->rows = calloc(s->report.n_funcs + 1, sizeof(*s->rows));
	if (!s->rows)
		return trace_view_no_memory(&s->view, diag);
	for (uint32_t i = 0; i < s->report.n_funcs; i++)
		if (is_shown(s, &s->report.funcs[i]) &&
		    (!s->outliers || s->report.funcs[i].spread.outliers) &&
		    (!s->distribution || s->report.funcs[i].spread.calls))
			s->rows[s->n_rows++] = i;
	if (!s->view.info->times && s->sorted &&
	    (s->order == ORDER_TOTAL || s->order == ORDER_SELF))
		return pugmark_diag_set(diag, -EINVAL, s->view.dir, PUGMARK_NO_OFFSET,
					"it was recorded without times: --sort total and self have "
					"nothing to go by");
	if (!s->sorted && !s->view.info->times)
		s->order = ORDER_CALLS;
	qsort_r(s->rows, s->n_rows, sizeof(*s->rows),
		s->outliers && !s->sorted ? by_outliers : orders[s->order], s);
	qsort_r(s->report.edges, s->report.n_edges, sizeof(*s->report.edges), edges_by_calls, s);
	if (s->top && s->n_rows > s->top)
		s->n_rows = s->top;
	return 0;
}
