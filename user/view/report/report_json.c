// SPDX-License-Identifier: LGPL-2.1-or-later
/* report_json.c: a report for other programs: all of it at once. */
#include "user/view/report/deaths_text.h"
#include "user/view/report/report_show.h"
#include "user/view/trace/hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	outbuf_format(s->out, ",\"outliers\":%llu,\"outliers_ns\":%llu}",
		      (unsigned long long)spread->outliers,
		      (unsigned long long)spread->outliers_ns);
}

/* What identifies a function: its name, and where it is. */
static void json_identity(struct report_show *s, uint32_t id)
{
	const struct report_func *f = &s->report.funcs[id];
	outbuf_json(s->out, "\"function\":", report_show_name(s, id));
	if (f->id.kind == FUNC_OF_PLAN) {
		const struct pugmark_plan *plan = pugmark_trace_plan(s->view.trace, f->id.module);
		outbuf_json(s->out,
			    ",\"module\":", pugmark_trace_module_name(s->view.trace, f->id.module));
		outbuf_format(s->out, ",\"address\":\"%llx\"",
			      (unsigned long long)plan->funcs[f->id.func].addr);
		char hint[HINT_BYTES];
		func_hint(&s->view, f->id.module, f->id.func, hint);
		if (*hint) {
			outbuf_json(s->out, ",\"hint\":", hint);
		}
	} else if (f->id.kind == FUNC_IMPORT) {
		outbuf_text(s->out, ",\"import\":true");
	} else if (f->id.kind == FUNC_MADE) {
		outbuf_text(s->out, ",\"made_at_run_time\":true");
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
		uint64_t goroutine = trace_view_goroutine(&s->view, slow->task);
		if (goroutine)
			outbuf_json_dec(s->out, ",\"goroutine\":", goroutine);
		else
			outbuf_format(s->out, ",\"thread\":%d", s->view.tasks[slow->task].tid);
		outbuf_format(s->out, ",\"open\":%s", slow->open ? "true" : "false");
		json_bounds(s, "start_ns",
			    (struct time_bounds){slow->from_ns > start ? slow->from_ns - start : 0,
						 slow->to_ns > start ? slow->to_ns - start : 0});
		json_bounds(s, "took_ns", slow->took);
		outbuf_char(s->out, '}');
	}
	outbuf_text(s->out, "],\n");
}

int report_show_json(struct report_show *s, struct pugmark_diag *diag)
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
	outbuf_text(s->out, "]");
	deaths_json(&s->view, s->out);
	outbuf_text(s->out, "}\n");
	free(into.first);
	free(into.of);
	free(out_of.first);
	free(out_of.of);
	return 0;
}
