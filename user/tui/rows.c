// SPDX-License-Identifier: LGPL-2.1-or-later
/* rows.c: see rows.h. */
#include "user/tui/rows.h"

#include "user/view/trace/hints.h"

#include <errno.h>
#include <stdlib.h>

const char *const tui_view_names[N_TUI_VIEWS] = {[TUI_TREE] = "tree",
						 [TUI_FLAT] = "functions",
						 [TUI_GRAPH] = "callers and callees",
						 [TUI_SLOW] = "slowest",
						 [TUI_GAP] = "gaps"};

static int add(struct tui_rows *rows, struct tui_row row)
{
	if (rows->n == rows->cap) {
		uint32_t cap = 2 * rows->cap + 256;
		struct tui_row *at = realloc(rows->at, cap * sizeof(*at));
		if (!at)
			return -ENOMEM;
		rows->at = at;
		rows->cap = cap;
	}
	rows->at[rows->n++] = row;
	return 0;
}

/* Those that are open, without recursion: stacks may be very deep. */
static int make_tree(struct tui_rows *rows, struct tui_facts *f)
{
	const struct context_node *nodes = f->x.contexts->nodes;
	uint32_t at = f->nodes[0].first, depth = 0;
	while (at) {
		if (add(rows, (struct tui_row){.index = at, .depth = depth}))
			return -ENOMEM;
		if (f->nodes[at].open && f->nodes[at].first) {
			at = f->nodes[at].first;
			depth++;
			continue;
		}
		while (at && !f->nodes[at].next) {
			at = nodes[at].parent;
			depth--;
		}
		at = at ? f->nodes[at].next : 0;
	}
	return 0;
}

static int most_time_first(const void *a, const void *b, void *ctx)
{
	const struct report_func *funcs = ctx;
	const struct report_func *x = &funcs[((const struct tui_row *)a)->index];
	const struct report_func *y = &funcs[((const struct tui_row *)b)->index];
	if (x->total.min_ns != y->total.min_ns)
		return x->total.min_ns < y->total.min_ns ? 1 : -1;
	if (x->total.max_ns != y->total.max_ns)
		return x->total.max_ns < y->total.max_ns ? 1 : -1;
	return x->calls != y->calls ? (x->calls < y->calls ? 1 : -1) : 0;
}

static int make_flat(struct tui_rows *rows, struct tui_facts *f)
{
	for (uint32_t i = 0; i < f->report.n_funcs; i++)
		if (f->report.funcs[i].calls && f->report.funcs[i].id.kind != FUNC_START &&
		    add(rows, (struct tui_row){.index = i}))
			return -ENOMEM;
	if (rows->n)
		qsort_r(rows->at, rows->n, sizeof(*rows->at), most_time_first, f->report.funcs);
	return 0;
}

static int make_graph(struct tui_rows *rows, struct tui_facts *f, uint32_t func)
{
	const struct report *r = &f->report;
	int err = 0;
	if (func >= r->n_funcs)
		return 0;
	for (uint32_t i = 0; i < r->n_edges && !err; i++)
		if (r->edges[i].callee == func)
			err = add(rows, (struct tui_row){.index = i, .role = TUI_CALLER});
	if (!err)
		err = add(rows, (struct tui_row){.index = func, .role = TUI_ITSELF});
	for (uint32_t i = 0; i < r->n_edges && !err; i++)
		if (r->edges[i].caller == func)
			err = add(rows, (struct tui_row){.index = i, .role = TUI_CALLEE});
	return err;
}

int tui_rows_make(struct tui_rows *rows, struct tui_facts *f, enum tui_view view, uint32_t func)
{
	uint32_t n = view == TUI_SLOW ? f->report.n_slow : view == TUI_GAP ? f->n_gaps : 0;
	rows->n = 0;
	rows->view = view;
	if (view == TUI_TREE)
		return make_tree(rows, f);
	if (view == TUI_FLAT)
		return make_flat(rows, f);
	if (view == TUI_GRAPH)
		return make_graph(rows, f, func);
	for (uint32_t i = 0; i < n; i++)
		if (add(rows, (struct tui_row){.index = i}))
			return -ENOMEM;
	return 0;
}

void tui_rows_deinit(struct tui_rows *rows)
{
	free(rows->at);
	*rows = (struct tui_rows){0};
}

/* ---- text ---- */

/* Its name, and behind that what is known of a function without one. */
static void put_name(struct tui_facts *f, uint32_t func, char *out, size_t room)
{
	const struct report_func *fn = &f->report.funcs[func];
	char hint[HINT_BYTES], text[TUI_LINE + HINT_BYTES];
	func_hint(&f->x.replay.view, fn->id.module,
		  fn->id.kind == FUNC_OF_PLAN ? fn->id.func : PUGMARK_NONE, hint);
	snprintf(text, sizeof(text), "%s%s%s%s", func_id_name(&f->x.replay.view, &fn->id),
		 *hint ? " (" : "", hint, *hint ? ")" : "");
	printable_copy(out, room, text, PRINT_TEXT);
}

static void tree_text(struct tui_facts *f, const struct tui_row *row, char out[TUI_LINE])
{
	const struct context_node *node = &f->x.contexts->nodes[row->index];
	const struct tui_node *n = &f->nodes[row->index];
	char total[DURATION_TEXT], self[TIME_BOUNDS_TEXT];
	duration_text(total, n->total_ns);
	time_bounds_text(self, n->self);
	unsigned indent = row->depth < 60 ? 2 * row->depth : 120;
	snprintf(out, TUI_LINE, "%10llu  %-9s %-19s %*s%c %s", (unsigned long long)node->calls,
		 f->x.times ? total : "", f->x.times ? self : "", (int)indent, "",
		 !n->first ? ' '
		 : n->open ? '-'
			   : '+',
		 export_context_name(&f->x, node));
}

static void func_text(struct tui_facts *f, uint32_t func, char out[TUI_LINE])
{
	const struct report_func *fn = &f->report.funcs[func];
	char total[TIME_BOUNDS_TEXT], self[TIME_BOUNDS_TEXT], name[TUI_LINE / 2];
	time_bounds_text(total, fn->total);
	time_bounds_text(self, fn->self);
	put_name(f, func, name, sizeof(name));
	snprintf(out, TUI_LINE, "%10llu  %-19s %-19s %s%s", (unsigned long long)fn->calls,
		 f->x.times ? total : "", f->x.times ? self : "", name,
		 fn->id.kind == FUNC_IMPORT ? " (import)" : "");
}

static void graph_text(struct tui_facts *f, const struct tui_row *row, char out[TUI_LINE])
{
	if (row->role == TUI_ITSELF) {
		func_text(f, row->index, out);
		return;
	}
	const struct report_edge *e = &f->report.edges[row->index];
	char total[TIME_BOUNDS_TEXT], name[TUI_LINE / 2];
	time_bounds_text(total, e->total);
	put_name(f, row->role == TUI_CALLER ? e->caller : e->callee, name, sizeof(name));
	snprintf(out, TUI_LINE, "%10llu  %-19s %-19s %s %s", (unsigned long long)e->calls,
		 f->x.times ? total : "", "", row->role == TUI_CALLER ? "<-" : "    ->", name);
}

static uint64_t after_start(const struct tui_facts *f, uint64_t ns)
{
	uint64_t start = f->x.replay.view.start_ns;
	return ns > start ? ns - start : 0;
}

static void slow_text(struct tui_facts *f, uint32_t index, char out[TUI_LINE])
{
	const struct report_slow *slow = &f->report.slow[index];
	char took[TIME_BOUNDS_TEXT], name[TUI_LINE / 2];
	time_bounds_text(took, slow->took);
	put_name(f, slow->id, name, sizeof(name));
	snprintf(out, TUI_LINE, "%12.6f  %-19s %8d  %s%s",
		 (double)after_start(f, slow->from_ns) / 1e9, took,
		 f->x.replay.view.tasks[slow->task].tid, name, slow->open ? " (still open)" : "");
}

static void gap_text(struct tui_facts *f, uint32_t index, char out[TUI_LINE])
{
	const struct tui_gap *g = &f->gaps[index];
	char took[DURATION_TEXT];
	duration_text(took, g->gap.span.latest_ns - g->gap.span.earliest_ns);
	snprintf(out, TUI_LINE, "%12.6f  %-19s %8d  %s, %llu lost",
		 (double)g->gap.span.earliest_ns / 1e9, took, export_task(&f->x, g->task)->tid,
		 trace_view_cause(g->gap.cause), (unsigned long long)g->gap.lost);
}

void tui_row_text(const struct tui_rows *rows, struct tui_facts *f, uint32_t row,
		  char out[TUI_LINE])
{
	const struct tui_row *r = &rows->at[row];
	switch (rows->view) {
	case TUI_TREE:
		tree_text(f, r, out);
		break;
	case TUI_FLAT:
		func_text(f, r->index, out);
		break;
	case TUI_GRAPH:
		graph_text(f, r, out);
		break;
	case TUI_SLOW:
		slow_text(f, r->index, out);
		break;
	default:
		gap_text(f, r->index, out);
	}
}

void tui_rows_heading(const struct tui_rows *rows, const struct tui_facts *f, char out[TUI_LINE])
{
	bool times = f->x.times;
	if (rows->view == TUI_TREE)
		snprintf(out, TUI_LINE, "%10s  %-9s %-19s   %s", "calls", times ? "total" : "",
			 times ? "self" : "", "call");
	else if (rows->view == TUI_FLAT || rows->view == TUI_GRAPH)
		snprintf(out, TUI_LINE, "%10s  %-19s %-19s %s", "calls", times ? "total" : "",
			 times ? "self" : "", "function");
	else
		snprintf(out, TUI_LINE, "%12s  %-19s %8s  %s", "start", "took", "thread",
			 rows->view == TUI_SLOW ? "function" : "cause");
}

uint64_t tui_row_time(const struct tui_rows *rows, const struct tui_facts *f, uint32_t row)
{
	if (row >= rows->n)
		return UINT64_MAX;
	uint32_t i = rows->at[row].index;
	return rows->view == TUI_SLOW  ? after_start(f, f->report.slow[i].from_ns)
	       : rows->view == TUI_GAP ? f->gaps[i].gap.span.earliest_ns
				       : UINT64_MAX;
}

/* The report's function of a frame. */
static uint32_t func_of_frame(struct tui_facts *f, uint32_t frame)
{
	if (frame >= f->x.frames.n)
		return UINT32_MAX;
	const struct export_frame *x = &f->x.frames.at[frame];
	for (uint32_t i = 0; i < f->report.n_funcs; i++) {
		const struct func_id *id = &f->report.funcs[i].id;
		if (x->outside ? id->kind == FUNC_IMPORT && id->module == x->module_number &&
					 !strcmp(func_id_name(&f->x.replay.view, id), x->name)
			       : id->kind == FUNC_OF_PLAN && id->module == x->module_number &&
					 id->func == x->func)
			return i;
	}
	return UINT32_MAX;
}

uint32_t tui_row_func(const struct tui_rows *rows, struct tui_facts *f, uint32_t row)
{
	if (row >= rows->n)
		return UINT32_MAX;
	const struct tui_row *r = &rows->at[row];
	switch (rows->view) {
	case TUI_TREE:
		return func_of_frame(f, f->x.contexts->nodes[r->index].frame);
	case TUI_FLAT:
		return r->index;
	case TUI_SLOW:
		return f->report.slow[r->index].id;
	case TUI_GRAPH:
		return r->role == TUI_ITSELF   ? r->index
		       : r->role == TUI_CALLER ? f->report.edges[r->index].caller
					       : f->report.edges[r->index].callee;
	default:
		return UINT32_MAX;
	}
}
