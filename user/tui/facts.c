// SPDX-License-Identifier: LGPL-2.1-or-later
/* facts.c: see facts.h. The tree is made like an export, by a format that is in no table. */
#include "user/tui/facts.h"

#include <errno.h>
#include <stdlib.h>

uint32_t tui_span_of(const struct tui_facts *f, uint64_t at_ns)
{
	uint64_t span = f->end_ns ? (uint64_t)((double)at_ns / (double)f->end_ns * TUI_SPANS) : 0;
	return span < TUI_SPANS ? (uint32_t)span : TUI_SPANS - 1;
}

static struct tui_facts *facts_of(struct export *x)
{
	return (struct tui_facts *)x; /* its first member */
}

static void on_call(struct export *x, const struct export_call *call)
{
	struct tui_facts *f = facts_of(x);
	f->spans[tui_span_of(f, call->at_ns)]++;
}

static void on_gap(struct export *x, const struct export_gap *gap)
{
	struct tui_facts *f = facts_of(x);
	uint32_t to = tui_span_of(f, x->times ? gap->span.latest_ns : gap->at_ns);
	for (uint32_t i = tui_span_of(f, gap->at_ns); i <= to; i++)
		f->gap_in[i] = true;
	if (f->n_gaps == TUI_GAPS_MAX)
		return;
	if (!f->gaps)
		f->gaps = malloc(TUI_GAPS_MAX * sizeof(*f->gaps));
	if (!f->gaps)
		export_fail(x, -ENOMEM, "out of memory");
	else
		f->gaps[f->n_gaps++] = (struct tui_gap){*gap, x->on->task};
}

static const struct export_format tui_format = {
	.name = "tui",
	.makes_path = true,
	.adds_up = true,
	.call = on_call,
	.gap = on_gap,
};

/* The end of the time that is shown; without times, as many steps as there are events. */
static uint64_t find_end(const struct trace_view *view, const struct report *report)
{
	uint64_t last_ns = 0;
	if (!view->info->times)
		return 2 * report->calls + 1;
	for (uint32_t i = 0; i < view->n_tasks; i++)
		if (trace_view_has_task(view, i) && view->tasks[i].last_ns > last_ns)
			last_ns = view->tasks[i].last_ns;
	return last_ns > view->start_ns ? last_ns - view->start_ns : 1;
}

static uint64_t weight(const struct tui_facts *f, uint32_t node)
{
	return f->x.times ? f->nodes[node].total_ns : f->x.contexts->nodes[node].calls;
}

/* Puts @node among its siblings: those with more time are before it. */
static void add_child(struct tui_facts *f, uint32_t parent, uint32_t node)
{
	uint32_t *at = &f->nodes[parent].first;
	while (*at && weight(f, *at) >= weight(f, node))
		at = &f->nodes[*at].next;
	f->nodes[node].next = *at;
	*at = node;
}

static int make_tree(struct tui_facts *f)
{
	const struct export_contexts *c = f->x.contexts;
	f->nodes = calloc(c->n + 1ul, sizeof(*f->nodes));
	if (!f->nodes)
		return -ENOMEM;
	for (uint32_t i = c->n; i-- > 1;) {
		const struct context_node *node = &c->nodes[i];
		f->nodes[i].total_ns += node->self_ns;
		f->nodes[i].self = (struct time_bounds){node->certain_ns, node->possible_ns};
		if (node->parent)
			f->nodes[node->parent].total_ns += f->nodes[i].total_ns;
	}
	for (uint32_t i = 1; i < c->n; i++)
		add_child(f, c->nodes[i].parent, i);
	f->nodes[0].open = true;
	return 0;
}

int tui_facts_collect(struct tui_facts *f, struct trace_view *view, struct pugmark_diag *diag)
{
	const struct report_wish wish = {.slowest = view->info->times ? TUI_SLOWEST : 0};
	struct replay *r = &f->x.replay;
	int err = report_collect(view, &wish, &f->report, diag);
	f->end_ns = find_end(view, &f->report);
	f->x.format = &tui_format;
	f->x.output = "";
	f->x.diag = diag;
	f->x.weigh_calls = !view->info->times;
	r->view = *view;
	r->out = malloc(sizeof(*r->out));
	if (!err && !r->out)
		err = trace_view_no_memory(view, diag);
	if (err)
		return err;
	outbuf_init(r->out, stdout);
	err = export_run(&f->x, diag);
	if (!err && make_tree(f))
		err = trace_view_no_memory(&r->view, diag);
	return err;
}

void tui_facts_deinit(struct tui_facts *f)
{
	export_deinit(&f->x);
	free(f->x.replay.out);
	report_deinit(&f->report);
	free(f->nodes);
	free(f->gaps);
}
