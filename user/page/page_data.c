// SPDX-License-Identifier: LGPL-2.1-or-later
/* page_data.c: see page_data.h. */
#include "user/page/page_data.h"

#include "user/cli/printable.h"
#include "user/export/call_tree.h"
#include "user/view/trace/hints.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

void page_gaps_add(struct page_gaps *gaps, struct export *x, const struct export_gap *gap)
{
	if (gaps->n == PAGE_GAPS_MAX)
		return;
	if (!gaps->at)
		gaps->at = malloc(PAGE_GAPS_MAX * sizeof(*gaps->at));
	if (!gaps->at) {
		export_fail(x, -ENOMEM, "out of memory");
		return;
	}
	gaps->at[gaps->n++] = (struct page_gap){*gap, x->on->task};
}

uint32_t page_thread(const struct export *x, uint32_t task)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < task; i++)
		n += trace_view_has_task(&x->replay.view, i);
	return n;
}

/* ---- JSON within a script: what would end the script is escaped too ---- */

/* A character that JSON has as \uXXXX since it turns or hides text would do so in the page as well:
 * it is shown as \u{202e} there. @at: behind the backslash; returns what follows. */
static const char *put_hidden(struct outbuf *out, const char *at)
{
	unsigned c = 0, low = 0;
	int len = 0;
	if (sscanf(at, "u%4x%n", &c, &len) != 1 ||
	    c == 0xfffd) { /* a quote, a backslash, no text */
		outbuf_char(out, '\\');
		outbuf_char(out, *at);
		return at + 1;
	}
	at += len;
	if (c >> 10 == 0xd800 >> 10 && sscanf(at, "\\u%4x%n", &low, &len) == 1) {
		c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
		at += len;
	}
	outbuf_format(out, c < 0x80 ? "\\\\x%02x" : "\\\\u{%x}", c);
	return at;
}

static void put_json(struct outbuf *out, const char *key, const char *json)
{
	outbuf_text(out, key);
	while (*json) {
		size_t n = strcspn(json, "<\\");
		outbuf_bytes(out, json, n);
		json += n;
		if (*json == '<')
			outbuf_text(out, "\\u003c");
		if (*json == '\\' && json[1])
			json = put_hidden(out, json + 1);
		else if (*json)
			json++;
	}
}

static void put_string(struct outbuf *out, const char *text)
{
	char escaped[PRINTABLE_ESCAPE_MAX];
	outbuf_char(out, '"');
	while (*text) {
		size_t n = printable_run(text, PRINT_JSON), open = strcspn(text, "<");
		if (open < n)
			n = open;
		outbuf_bytes(out, text, n);
		text += n;
		if (*text == '<') {
			outbuf_text(out, "\\u003c");
			text++;
		} else if (*text) {
			text += printable_escape(text, PRINT_JSON, escaped);
			put_json(out, "", escaped);
		}
	}
	outbuf_char(out, '"');
}

static void put_text(struct outbuf *out, const char *key, const char *text)
{
	outbuf_text(out, key);
	put_string(out, text);
}

static void put_bounds(struct export *x, const char *key, struct time_bounds t)
{
	if (!x->times)
		return;
	outbuf_json_dec(x->replay.out, key, t.min_ns);
	outbuf_json_dec(x->replay.out, ",", t.max_ns);
	outbuf_char(x->replay.out, ']');
}

static uint64_t after_start(const struct export *x, uint64_t ns)
{
	uint64_t start = x->replay.view.start_ns;
	return ns > start ? ns - start : 0;
}

/* ---- parts ---- */

static void put_summary(struct export *x, const struct page_facts *facts)
{
	const struct trace_view *view = &x->replay.view;
	const struct report *report = ((const struct page_about *)x->about)->report;
	struct outbuf *out = x->replay.out;
	char when[64] = "";
	uint64_t last_ns = 0;
	struct tm tm;
	time_t at = (time_t)(view->info->start_realtime_ns / 1000000000);
	if (at && localtime_r(&at, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", &tm);
	for (uint32_t i = 0; i < view->n_tasks; i++)
		if (view->tasks[i].last_ns > last_ns)
			last_ns = view->tasks[i].last_ns;
	put_text(out, "{\"title\":", view->dir);
	put_text(out, ",\"when\":", when);
	outbuf_json_dec(out, ",\"duration\":", after_start(x, last_ns));
	outbuf_json_dec(out, ",\"end\":", facts->end_ns);
	outbuf_json_dec(out, ",\"cut\":", facts->cut);
	outbuf_json_dec(out, ",\"calls\":", report->calls);
	outbuf_json_dec(out, ",\"witnesses\":", report->witnesses);
	outbuf_json_dec(out, ",\"gaps\":", report->gaps);
	outbuf_json_dec(out, ",\"gapTime\":", report->in_gaps.max_ns);
	outbuf_text(out, facts->served ? ",\"served\":true" : ",\"served\":false");
	outbuf_text(out, x->times ? ",\"times\":true" : ",\"times\":false");
	outbuf_text(out, trace_view_status(view, 0) ? ",\"whole\":false" : ",\"whole\":true");
	outbuf_text(out, ",\"notes\":[");
	for (uint32_t i = 0; pugmark_recording_note(view->rec, i); i++)
		put_text(out, i ? ",\n" : "", pugmark_recording_note(view->rec, i));
	outbuf_text(out, "]\n");
}

static void put_threads(struct export *x)
{
	const struct trace_view *view = &x->replay.view;
	struct outbuf *out = x->replay.out;
	const char *comma = "";
	outbuf_text(out, ",\"threads\":[");
	for (uint32_t i = 0; i < view->n_tasks; i++) {
		const struct pugmark_recording_task *task = &view->tasks[i];
		if (!trace_view_has_task(view, i))
			continue;
		outbuf_text(out, comma);
		comma = ",\n";
		outbuf_json_dec(out, "{\"tid\":", (uint64_t)task->tid);
		outbuf_json_dec(out, ",\"pid\":", (uint64_t)task->pid);
		put_text(out, ",\"n\":", task->comm);
		outbuf_json_dec(out, ",\"first\":", after_start(x, task->first_ns));
		outbuf_json_dec(out, ",\"last\":", after_start(x, task->last_ns));
		outbuf_json_dec(out, ",\"events\":", task->n_events);
		outbuf_char(out, '}');
	}
	outbuf_text(out, "]\n");
}

static void put_frames(struct export *x)
{
	struct outbuf *out = x->replay.out;
	outbuf_text(out, ",\"frames\":[");
	for (uint32_t i = 0; i < x->frames.n; i++) {
		put_text(out, i ? ",\n{\"n\":" : "{\"n\":", x->frames.at[i].name);
		put_text(out, ",\"m\":", x->frames.at[i].module);
		outbuf_text(out, x->frames.at[i].outside ? ",\"o\":1}" : ",\"o\":0}");
	}
	outbuf_text(out, "]\n");
}

#define TREE_LIST(out, c, key, expression)                                                         \
	do {                                                                                       \
		outbuf_text(out, key);                                                             \
		for (uint32_t i = 0; i < (c)->n; i++) {                                            \
			const struct context_node *node = &(c)->nodes[i];                          \
			if (i)                                                                     \
				outbuf_text(out, i % 64 ? "," : ",\n");                            \
			put_signed(out, expression);                                               \
		}                                                                                  \
		outbuf_text(out, "]\n");                                                           \
	} while (0)

static void put_signed(struct outbuf *out, int64_t value)
{
	if (value < 0)
		outbuf_char(out, '-');
	outbuf_dec(out, (uint64_t)(value < 0 ? -value : value));
}

static int64_t frame_number(uint32_t frame)
{
	return frame == EXPORT_GAP_FRAME ? -1 : frame == EXPORT_NO_FRAME ? -2 : (int64_t)frame;
}

static void put_tree(struct export *x)
{
	const struct export_contexts *c = x->contexts;
	struct outbuf *out = x->replay.out;
	TREE_LIST(out, c, ",\"tree\":{\"p\":[", node->parent);
	TREE_LIST(out, c, ",\"f\":[", frame_number(node->frame));
	TREE_LIST(out, c, ",\"c\":[", (int64_t)node->calls);
	TREE_LIST(out, c, ",\"s\":[", (int64_t)node->self_ns);
	TREE_LIST(out, c, ",\"lo\":[", (int64_t)node->certain_ns);
	TREE_LIST(out, c, ",\"hi\":[", (int64_t)node->possible_ns);
	outbuf_text(out, "}\n");
}

/* ---- functions, as report counts them ---- */

static bool ran(const struct report_func *f)
{
	return f->id.kind != FUNC_START && (f->calls || f->total.max_ns || f->self.max_ns);
}

static int by_caller(const void *a, const void *b)
{
	const struct report_edge *x = *(const struct report_edge *const *)a;
	const struct report_edge *y = *(const struct report_edge *const *)b;
	return (x->caller > y->caller) - (x->caller < y->caller);
}

static int by_callee(const void *a, const void *b)
{
	const struct report_edge *x = *(const struct report_edge *const *)a;
	const struct report_edge *y = *(const struct report_edge *const *)b;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

/* Writes the edges that lead into @id (@into) or out of it, from a list sorted by that end; *@at
 * moves past them. @number: of the page, by id. */
static void put_edges(struct export *x, const char *key, const struct report_edge *const *edges,
		      uint32_t n, uint32_t *at, uint32_t id, bool into, const uint32_t *number)
{
	struct outbuf *out = x->replay.out;
	outbuf_text(out, key);
	for (bool first = true; *at < n; ++*at, first = false) {
		const struct report_edge *e = edges[*at];
		if ((into ? e->callee : e->caller) != id)
			break;
		outbuf_text(out, first ? "[" : ",[");
		outbuf_dec(out, number[into ? e->caller : e->callee]);
		outbuf_json_dec(out, ",", e->calls);
		put_bounds(x, ",[", e->total);
		outbuf_char(out, ']');
	}
	outbuf_char(out, ']');
}

/* How many calls took so long, by powers of two from "p" on: [by what they certainly took, by what
 * they may have]. */
static void put_powers(struct outbuf *out, const struct report_powers *powers)
{
	int first = 0, last = DURATIONS_POWERS - 1;
	while (first < last && !powers->certain[first] && !powers->possible[first])
		first++;
	while (last > first && !powers->certain[last] && !powers->possible[last])
		last--;
	outbuf_json_dec(out, ",\"h\":{\"p\":", (uint64_t)first);
	outbuf_text(out, ",\"n\":[");
	for (int i = first; i <= last; i++)
		outbuf_format(out, "%s[%u,%u]", i == first ? "" : ",", powers->certain[i],
			      powers->possible[i]);
	outbuf_text(out, "]}");
}

static void put_hint(struct export *x, const struct report_func *f)
{
	char hint[HINT_BYTES];
	func_hint(&x->replay.view, f->id.module,
		  f->id.kind == FUNC_OF_PLAN ? f->id.func : PUGMARK_NONE, hint);
	if (*hint)
		put_text(x->replay.out, ",\"k\":", hint);
}

static void put_function(struct export *x, const struct report_func *f, uint32_t number)
{
	struct outbuf *out = x->replay.out;
	outbuf_json_dec(out, number ? ",\n{\"id\":" : "{\"id\":", number);
	put_text(out, ",\"n\":", func_id_name(&x->replay.view, &f->id));
	put_text(out, ",\"m\":",
		 f->id.kind == FUNC_OF_PLAN
			 ? pugmark_trace_module_name(x->replay.view.trace, f->id.module)
			 : "");
	if (f->id.kind == FUNC_OF_PLAN)
		outbuf_format(out, ",\"a\":\"%" PRIx64 "\"",
			      pugmark_trace_plan(x->replay.view.trace, f->id.module)
				      ->funcs[f->id.func]
				      .addr);
	put_hint(x, f);
	outbuf_text(out, f->id.kind == FUNC_IMPORT ? ",\"i\":true" : ",\"i\":false");
	outbuf_text(out, ran(f) ? ",\"ran\":true" : ",\"ran\":false");
	outbuf_json_dec(out, ",\"c\":", f->calls);
	put_bounds(x, ",\"t\":[", f->total);
	put_bounds(x, ",\"s\":[", f->self);
	if (!x->times || !f->spread.calls)
		return;
	put_bounds(x, ",\"d\":{\"min\":[", f->spread.min);
	put_bounds(x, ",\"median\":[", f->spread.median);
	put_bounds(x, ",\"p99\":[", f->spread.p99);
	put_bounds(x, ",\"max\":[", f->spread.max);
	outbuf_char(out, '}');
	if (f->spread.powers)
		put_powers(out, f->spread.powers);
}

static bool is_told(const struct report_func *f)
{
	return ran(f) || f->id.kind == FUNC_START || f->id.kind == FUNC_MADE;
}

/* Those that ran, and where what no call of ours led to came from, numbered from 0. */
static void put_functions(struct export *x, uint32_t *number, const struct report_edge **into,
			  const struct report_edge **out_of)
{
	const struct report *report = ((const struct page_about *)x->about)->report;
	uint32_t n = 0, at_into = 0, at_out = 0;
	for (uint32_t i = 0; i < report->n_funcs; i++)
		if (is_told(&report->funcs[i]))
			number[i] = n++;
	for (uint32_t i = 0; i < report->n_edges; i++)
		into[i] = out_of[i] = &report->edges[i];
	if (report->n_edges) {
		qsort(into, report->n_edges, sizeof(*into), by_callee);
		qsort(out_of, report->n_edges, sizeof(*out_of), by_caller);
	}
	outbuf_text(x->replay.out, ",\"functions\":[");
	for (uint32_t i = 0; i < report->n_funcs; i++) {
		if (!is_told(&report->funcs[i]))
			continue;
		put_function(x, &report->funcs[i], number[i]);
		put_edges(x, ",\"callers\":[", into, report->n_edges, &at_into, i, true, number);
		put_edges(x, ",\"callees\":[", out_of, report->n_edges, &at_out, i, false, number);
		outbuf_char(x->replay.out, '}');
	}
	outbuf_text(x->replay.out, "]\n");
}

static void put_slowest(struct export *x, const uint32_t *number)
{
	const struct report *report = ((const struct page_about *)x->about)->report;
	struct outbuf *out = x->replay.out;
	outbuf_text(out, ",\"slow\":[");
	for (uint32_t i = 0; i < report->n_slow; i++) {
		const struct report_slow *slow = &report->slow[i];
		outbuf_json_dec(out, i ? ",\n{\"f\":" : "{\"f\":", number[slow->id]);
		outbuf_json_dec(out, ",\"tid\":", (uint64_t)x->replay.view.tasks[slow->task].tid);
		outbuf_text(out, slow->open ? ",\"open\":true" : ",\"open\":false");
		put_bounds(x, ",\"at\":[",
			   (struct time_bounds){after_start(x, slow->from_ns),
						after_start(x, slow->to_ns)});
		put_bounds(x, ",\"took\":[", slow->took);
		outbuf_char(out, '}');
	}
	outbuf_text(out, "]\n");
}

static void put_gaps(struct export *x, const struct page_gaps *gaps)
{
	struct outbuf *out = x->replay.out;
	outbuf_text(out, ",\"gapList\":[");
	for (uint32_t i = 0; i < gaps->n; i++) {
		const struct page_gap *g = &gaps->at[i];
		outbuf_json_dec(out, i ? ",\n{\"from\":" : "{\"from\":", g->gap.span.earliest_ns);
		outbuf_json_dec(out, ",\"to\":", g->gap.span.latest_ns);
		outbuf_json_dec(out, ",\"lost\":", g->gap.lost);
		outbuf_json_dec(out, ",\"tid\":", (uint64_t)export_task(x, g->task)->tid);
		put_text(out, ",\"cause\":", trace_view_cause(g->gap.cause));
		outbuf_char(out, '}');
	}
	outbuf_text(out, "]\n");
}

/* JSON of another room. In JSON "<" is within strings alone. */
void page_data(struct export *x, const struct page_facts *facts)
{
	const struct report *report = ((const struct page_about *)x->about)->report;
	uint32_t *number = calloc(report->n_funcs + 1, sizeof(*number));
	const struct report_edge **into = malloc((report->n_edges + 1) * sizeof(*into));
	const struct report_edge **out_of = malloc((report->n_edges + 1) * sizeof(*out_of));
	if (number && into && out_of) {
		put_summary(x, facts);
		put_threads(x);
		put_frames(x);
		put_tree(x);
		put_functions(x, number, into, out_of);
		put_slowest(x, number);
		put_gaps(x, facts->gaps);
		const struct page_about *about = x->about;
		if (about->requests)
			put_json(x->replay.out, ",\"requests\":", about->requests);
		if (about->against)
			put_json(x->replay.out, ",\"against\":", about->against);
		if (about->automata)
			put_json(x->replay.out, ",\"automata\":", about->automata);
		if (about->blocks)
			put_json(x->replay.out, ",\"blocks\":", about->blocks);
		outbuf_text(x->replay.out, "}\n");
	} else {
		export_fail(x, -ENOMEM, "out of memory");
	}
	free(number);
	free(into);
	free(out_of);
}
