// SPDX-License-Identifier: LGPL-2.1-or-later
/* expected.c: see expected.h. */
#include "user/view/trace/expected.h"

/* Whether it has an event that fits nothing. */
static bool has_event(const struct trace_view *view, const struct pugmark_gap *gap)
{
	return gap->addr && pugmark_trace_plan(view->trace, gap->module);
}

static const char *func_at(const struct trace_view *view, const struct pugmark_gap *gap)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, gap->module);

	uint32_t func = pugmark_plan_func_of(plan, gap->addr);

	if (pugmark_plan_in_unknown_code(plan, gap->addr))
		return "code of no known function";
	return pugmark_trace_func_name(view->trace, gap->module, func);
}

static const char *was_func(const struct trace_view *view, const struct pugmark_gap *gap,
			    uint32_t func)
{
	return pugmark_trace_func_name(view->trace, gap->was_module, func);
}

static void text_place(struct outbuf *out, uint64_t addr, const char *func)
{
	outbuf_hex(out, addr);
	outbuf_text(out, " in ");
	outbuf_safe_text(out, func);
}

static void text_fitting(const struct trace_view *view, const struct pugmark_gap *gap,
			 const struct pugmark_expected *f, struct outbuf *out)
{
	const char *sep = "";

	outbuf_text(out, f->any || f->entry || f->n || f->end ? ": expected " : "");
	if (f->any)
		outbuf_text(out, "anything at all");
	for (uint32_t i = 0; !f->any && i < f->n; i++, sep = " or ") {
		outbuf_text(out, sep);
		text_place(out, f->addr[i], was_func(view, gap, f->func[i]));
	}
	if (!f->any && f->more)
		outbuf_format(out, " or %u other%s", f->more, f->more == 1 ? "" : "s");
	if (!f->any && f->entry) {
		outbuf_text(out, sep);
		outbuf_text(out, "the entry of a function that is called from outside");
		sep = " or ";
	}
	if (!f->any && f->end) {
		outbuf_text(out, sep);
		outbuf_text(out, "its end");
	}
}

void expected_text(struct pugmark_expectations *x, const struct trace_view *view,
		   const struct pugmark_gap *gap, struct outbuf *out)
{
	bool event = has_event(view, gap);

	if (event) {
		outbuf_text(out, ": ");
		text_place(out, gap->addr, func_at(view, gap));
	}
	if (gap->was.func == PUGMARK_NONE) {
		if (event)
			outbuf_text(out, ", after what is not known");
		return;
	}
	struct pugmark_expected f = pugmark_expectations_at(x, gap);
	outbuf_text(out, event ? ", after " : ": after ");
	outbuf_safe_text(out, was_func(view, gap, gap->was.func));
	text_fitting(view, gap, &f, out);
}

void expected_json(struct pugmark_expectations *x, const struct trace_view *view,
		   const struct pugmark_gap *gap, struct outbuf *out)
{
	if (has_event(view, gap)) {
		outbuf_text(out, ",\"address\":\"");
		outbuf_hex(out, gap->addr);
		outbuf_char(out, '"');
		outbuf_json(out, ",\"function\":", func_at(view, gap));
	}
	if (gap->was.func == PUGMARK_NONE)
		return;
	struct pugmark_expected f = pugmark_expectations_at(x, gap);
	outbuf_json(out, ",\"after\":", was_func(view, gap, gap->was.func));
	outbuf_text(out, ",\"expected\":[");
	for (uint32_t i = 0; i < f.n; i++) {
		outbuf_text(out, i ? ",{\"address\":\"" : "{\"address\":\"");
		outbuf_hex(out, f.addr[i]);
		outbuf_char(out, '"');
		outbuf_json(out, ",\"function\":", was_func(view, gap, f.func[i]));
		outbuf_char(out, '}');
	}
	outbuf_format(out,
		      "],\"expected_more\":%u,\"expected_any\":%s,\"expected_entry\":%s,"
		      "\"expected_end\":%s",
		      f.more, f.any ? "true" : "false", f.entry ? "true" : "false",
		      f.end ? "true" : "false");
}
