// SPDX-License-Identifier: LGPL-2.1-or-later
/* block_listing.c: see block_listing.h. One module after the other: its model, what was counted of
 * it, and its source lines where it has them. */
#include "user/view/lines/block_listing.h"

#include "offline/base/open_regular.h"
#include "offline/base/vec.h"
#include "user/file/dwarf_lines.h"
#include "user/view/lines/block_counts.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { SOURCE_BYTES_MAX = 4 << 20, INSTRUCTION_TEXT = 128 };

/* A source file in memory, each line a string. */
struct source_text {
	uint32_t file; /* of dwarf_lines */
	char *text;    /* heap */
	VEC(const char *) lines;
};

struct listing {
	struct trace_view *view;
	struct outbuf *out;
	const struct pugmark_model *model;
	const struct dwarf_lines *source; /* NULL: it has none */
	VEC(struct source_text) texts;
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	uint64_t bytes; /* written of functions, about */
	bool first, cut;
};

/* ---- source ---- */

static int read_text(const char *path, struct source_text *out)
{
	FILE *file = open_regular_stream(path);
	if (!file)
		return 0;
	out->text = malloc(SOURCE_BYTES_MAX + 1);
	size_t n = out->text ? fread(out->text, 1, SOURCE_BYTES_MAX, file) : 0;
	fclose(file);
	if (!out->text)
		return -ENOMEM;
	out->text[n] = 0;
	char *smaller = realloc(out->text, n + 1);
	out->text = smaller ? smaller : out->text;
	for (char *line = out->text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (!VEC_PUSH(&out->lines, line + strspn(line, " \t")))
			return -ENOMEM;
	for (char *at = out->text; (at = strpbrk(at, "\r\n")); at++)
		*at = 0;
	return 0;
}

/* The line's text, or NULL. */
static const char *text_of(struct listing *l, uint32_t file, uint32_t line)
{
	struct source_text *t = NULL;
	for (uint32_t i = 0; i < l->texts.n && !t; i++)
		if (l->texts.at[i].file == file)
			t = &l->texts.at[i];
	if (!t) {
		struct source_text fresh = {.file = file};
		if (read_text(dwarf_lines_file(l->source, file), &fresh) ||
		    !VEC_PUSH(&l->texts, fresh)) {
			free(fresh.text);
			VEC_FREE(&fresh.lines);
			return NULL;
		}
		t = &l->texts.at[l->texts.n - 1];
	}
	return line && line <= t->lines.n ? t->lines.at[line - 1] : NULL;
}

static void free_texts(struct listing *l)
{
	for (uint32_t i = 0; i < l->texts.n; i++) {
		free(l->texts.at[i].text);
		VEC_FREE(&l->texts.at[i].lines);
	}
	VEC_FREE(&l->texts);
}

/* ---- instructions ---- */

static void put_text(struct listing *l, const char *before, const char *text)
{
	outbuf_text(l->out, before);
	outbuf_json_text(l->out, text);
	outbuf_char(l->out, '"');
	l->bytes += strlen(text) + 8;
}

/* @last: the row of the instruction before, or NULL. */
static void put_line(struct listing *l, uint64_t addr, const struct source_row **last)
{
	const struct source_row *row = l->source ? dwarf_lines_row_at(l->source, addr) : NULL;
	if (!row || !row->line ||
	    (*last && (*last)->file == row->file && (*last)->line == row->line))
		return;
	*last = row;
	const char *path = dwarf_lines_file(l->source, row->file);
	const char *base = strrchr(path, '/'), *text = text_of(l, row->file, row->line);
	outbuf_text(l->out, ",\"");
	outbuf_json_text(l->out, base ? base + 1 : path);
	outbuf_format(l->out, ":%u\"", row->line);
	if (text)
		put_text(l, ",\"", text);
}

static void put_block(struct listing *l, uint32_t b, uint64_t count)
{
	const struct pugmark_block *block = &l->model->blocks[b];
	const struct source_row *last = NULL;
	outbuf_format(l->out, "{\"a\":\"%" PRIx64 "\",\"c\":%" PRIu64 ",\"i\":[", block->addr,
		      count);
	for (uint64_t at = block->addr; at < block->addr + block->size;) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		char text[INSTRUCTION_TEXT];
		size_t n;
		const uint8_t *bytes = pugmark_model_bytes(l->model, at, &n);
		if (!bytes ||
		    ZYAN_FAILED(ZydisDecoderDecodeFull(&l->decoder, bytes, n, &insn, operands)) ||
		    ZYAN_FAILED(ZydisFormatterFormatInstruction(&l->formatter, &insn, operands,
								insn.operand_count_visible, text,
								sizeof(text), at, NULL)))
			break;
		put_text(l, at == block->addr ? "[\"" : ",[\"", text);
		put_line(l, at, &last);
		outbuf_char(l->out, ']');
		at += insn.length;
	}
	outbuf_text(l->out, "]}");
}

/* ---- functions ---- */

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (x[0] > y[0]) - (x[0] < y[0]);
}

static int put_function(struct listing *l, uint32_t module, uint32_t f,
			const struct block_counts *counts)
{
	const struct pugmark_func *func = &l->model->funcs[f];
	uint64_t ran = 0;
	for (uint32_t b = 0; b < func->n_blocks; b++)
		ran |= counts->blocks[func->block + b];
	if (!ran)
		return 0;
	if (l->bytes > BLOCK_LISTING_BYTES_MAX) {
		l->cut = true;
		return 0;
	}
	uint64_t(*order)[2] = malloc(func->n_blocks * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t b = 0; b < func->n_blocks; b++) {
		order[b][0] = l->model->blocks[func->block + b].addr;
		order[b][1] = func->block + b;
	}
	qsort(order, func->n_blocks, sizeof(*order), by_address);
	outbuf_text(l->out, l->first ? "{\"m\":\"" : ",\n{\"m\":\"");
	l->first = false;
	outbuf_json_text(l->out, pugmark_trace_module_name(l->view->trace, module));
	outbuf_format(l->out, "\",\"a\":\"%" PRIx64 "\",\"b\":[", func->addr);
	for (uint32_t b = 0; b < func->n_blocks; b++) {
		if (b)
			outbuf_char(l->out, ',');
		put_block(l, (uint32_t)order[b][1], counts->blocks[order[b][1]]);
	}
	outbuf_text(l->out, "]}");
	free(order);
	return 0;
}

static bool is_shown(const struct trace_view *view, uint32_t module, uint32_t f)
{
	const struct pugmark_plan *plan = pugmark_trace_plan(view->trace, module);
	return f < plan->n_funcs && trace_view_has_func(view, module, f) &&
	       !(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE);
}

static int put_module(struct listing *l, uint32_t module, struct pugmark_diag *diag)
{
	struct pugmark_model *model;
	struct dwarf_lines *source = NULL;
	struct block_counts counts = {0};
	struct pugmark_diag none;
	int err = block_counts_open_model(l->view, module, NULL, &model, diag);
	if (err)
		return err;
	l->model = model;
	err = block_counts_collect(l->view, module, model, &counts, diag);
	if (!err && !dwarf_lines_open(model->path, &source, &none))
		l->source = source;
	for (uint32_t f = 0; f < model->n_funcs && !err; f++)
		if (is_shown(l->view, module, f) && put_function(l, module, f, &counts))
			err = trace_view_no_memory(l->view, diag);
	block_counts_deinit(&counts);
	free_texts(l);
	dwarf_lines_free(source);
	l->source = NULL;
	pugmark_model_free(model);
	return err;
}

bool block_listing_has(const struct trace_view *view)
{
	for (uint32_t m = 0; m < view->n_modules; m++)
		if (trace_view_has_module(view, m) &&
		    plan_shows_blocks(pugmark_trace_plan(view->trace, m)))
			return true;
	return false;
}

int block_listing_json(struct trace_view *view, struct outbuf *out, struct pugmark_diag *diag)
{
	struct listing l = {.view = view, .out = out, .first = true};
	VEC(char *) notes = {0};
	int err = 0;
	ZydisDecoderInit(&l.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&l.formatter, ZYDIS_FORMATTER_STYLE_ATT);
	/* Addresses look as those of the blocks do. */
	ZydisFormatterSetProperty(&l.formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&l.formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	outbuf_text(out, "{\"functions\":[");
	for (uint32_t m = 0; m < view->n_modules && err != -ENOMEM; m++) {
		if (!trace_view_has_module(view, m) ||
		    !plan_shows_blocks(pugmark_trace_plan(view->trace, m)))
			continue;
		err = put_module(&l, m, diag);
		char *note = NULL;
		if (err && err != -ENOMEM &&
		    (asprintf(&note, "%s: %s", pugmark_trace_module_name(view->trace, m),
			      diag->text) < 0 ||
		     !VEC_PUSH(&notes, note))) {
			free(note);
			err = trace_view_no_memory(view, diag);
		}
	}
	outbuf_text(out, "],\n\"notes\":[");
	for (uint32_t i = 0; i < notes.n; i++) {
		put_text(&l, i ? ",\"" : "\"", notes.at[i]);
		free(notes.at[i]);
	}
	if (l.cut)
		put_text(&l, notes.n ? ",\"" : "\"",
			 "the page has no room for the blocks of all functions");
	VEC_FREE(&notes);
	outbuf_text(out, "]}");
	return err == -ENOMEM ? err : 0;
}
