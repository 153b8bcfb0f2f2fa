// SPDX-License-Identifier: LGPL-2.1-or-later
/* report_lines.c: see report_lines.h. One module after the other: its model, what was counted of
 * it, its source lines, and then one of three ways to write them. */
#include "user/view/lines/report_lines.h"

#include "user/view/lines/line_counts.h"

#include <errno.h>
#include <stdlib.h>

enum { COUNT_WIDTH = 12 };

struct shown_lines {
	struct trace_view *view;
	struct outbuf *out;
	const struct dwarf_lines *source;
	const struct line_counts *counts;
	bool first; /* JSON: nothing is in the list yet */
};

static void text_lines(struct shown_lines *s)
{
	for (uint32_t i = 0; i < s->counts->n_lines; i++) {
		const struct line_count *l = &s->counts->lines[i];
		if (!l->count)
			continue;
		outbuf_format(s->out, "%*llu  ", COUNT_WIDTH, (unsigned long long)l->count);
		outbuf_safe_text(s->out, dwarf_lines_file(s->source, l->file));
		outbuf_format(s->out, ":%u\n", l->line);
	}
}

static void json_lines(struct shown_lines *s)
{
	for (uint32_t i = 0; i < s->counts->n_lines; i++) {
		const struct line_count *l = &s->counts->lines[i];
		outbuf_text(s->out, s->first ? "{\"file\":\"" : ",\n{\"file\":\"");
		s->first = false;
		outbuf_json_text(s->out, dwarf_lines_file(s->source, l->file));
		outbuf_format(s->out, "\",\"line\":%u,\"count\":%llu}", l->line,
			      (unsigned long long)l->count);
	}
}

/* Writes a path in one line: lcov's format cannot hold a newline in one. */
static void lcov_path(struct shown_lines *s, const char *path)
{
	outbuf_text(s->out, "TN:\nSF:");
	outbuf_safe_text(s->out, path);
	outbuf_char(s->out, '\n');
}

/* The functions of @file, from @f on; returns where the next file's begin. */
static uint32_t lcov_functions(struct shown_lines *s, uint32_t file, uint32_t f)
{
	uint32_t end = f, hit = 0;
	for (; end < s->counts->n_functions && s->counts->functions[end].file == file; end++) {
		const struct function_count *fn = &s->counts->functions[end];
		outbuf_format(s->out, "FN:%u,", fn->line);
		outbuf_safe_text(s->out, fn->name);
		outbuf_char(s->out, '\n');
		hit += fn->calls > 0;
	}
	for (uint32_t i = f; i < end; i++) {
		outbuf_format(s->out, "FNDA:%llu,",
			      (unsigned long long)s->counts->functions[i].calls);
		outbuf_safe_text(s->out, s->counts->functions[i].name);
		outbuf_char(s->out, '\n');
	}
	outbuf_format(s->out, "FNF:%u\nFNH:%u\n", end - f, hit);
	return end;
}

static void lcov_lines(struct shown_lines *s)
{
	uint32_t f = 0;
	for (uint32_t i = 0; i < s->counts->n_lines;) {
		uint32_t file = s->counts->lines[i].file, found = 0, hit = 0;
		lcov_path(s, dwarf_lines_file(s->source, file));
		while (f < s->counts->n_functions && s->counts->functions[f].file < file)
			f++; /* of a file without lines */
		f = lcov_functions(s, file, f);
		for (; i < s->counts->n_lines && s->counts->lines[i].file == file; i++) {
			const struct line_count *l = &s->counts->lines[i];
			outbuf_format(s->out, "DA:%u,%llu\n", l->line,
				      (unsigned long long)l->count);
			found++;
			hit += l->count > 0;
		}
		outbuf_format(s->out, "LF:%u\nLH:%u\nend_of_record\n", found, hit);
	}
}

static bool *shown_functions(struct trace_view *view, uint32_t module)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	bool *shown = calloc(plan->n_funcs + 1, sizeof(*shown));
	for (uint32_t f = 0; shown && f < plan->n_funcs; f++)
		shown[f] = trace_view_has_func(view, module, f) &&
			   !(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE);
	return shown;
}

static int show_module(struct shown_lines *s, uint32_t module, const char *binary,
		       enum lines_format format, uint64_t *gaps, struct pugmark_diag *diag)
{
	struct pugmark_model *model;
	struct block_counts blocks = {0};
	struct dwarf_lines *source = NULL;
	struct line_counts lines = {0};
	int err = block_counts_open_model(s->view, module, binary, &model, diag);
	if (err)
		return err;
	bool *shown = shown_functions(s->view, module);
	if (!shown)
		err = trace_view_no_memory(s->view, diag);
	if (!err)
		err = dwarf_lines_open(model->path, &source, diag);
	if (!err)
		err = block_counts_collect(s->view, module, model, &blocks, diag);
	if (!err && line_counts_collect(model, &blocks, source, shown, &lines))
		err = trace_view_no_memory(s->view, diag);
	if (!err) {
		*gaps = blocks.gaps;
		s->source = source;
		s->counts = &lines;
		if (format == LINES_LCOV)
			lcov_lines(s);
		else if (format == LINES_JSON)
			json_lines(s);
		else
			text_lines(s);
	}
	line_counts_deinit(&lines);
	block_counts_deinit(&blocks);
	dwarf_lines_free(source);
	free(shown);
	pugmark_model_free(model);
	return err;
}

int report_lines(struct trace_view *view, const char *binary, enum lines_format format,
		 struct outbuf *out, uint64_t *gaps, struct pugmark_diag *diag)
{
	struct shown_lines s = {.view = view, .out = out, .first = true};
	uint32_t shown = 0;
	int err = 0;
	*gaps = 0;
	if (format == LINES_JSON)
		outbuf_text(out, "{\"lines\":[\n");
	for (uint32_t m = 0; m < view->n_modules && !err; m++) {
		if (!trace_view_has_module(view, m))
			continue;
		err = show_module(&s, m, binary, format, gaps, diag);
		shown += !err;
		/* one of several modules that has no lines does not stop the others */
		if (err == -ENODATA && view->n_modules > 1)
			err = 0;
	}
	if (!err && !shown)
		err = -ENODATA; /* with what the last of them had to say */
	if (format == LINES_JSON)
		outbuf_format(out, "],\"gaps\":%llu}\n", (unsigned long long)*gaps);
	return err;
}
