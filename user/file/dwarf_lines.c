// SPDX-License-Identifier: LGPL-2.1-or-later
/* dwarf_lines.c: see dwarf_lines.h. Everything is read at once and flattened into sorted arrays, so
 * that a question is a binary search. libdw checks what it reads; what it does not like is left
 * out. */
#include "user/file/dwarf_lines.h"

#include "offline/base/search.h"
#include "user/file/debug_files.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "offline/base/vec.h"

#define NESTING_MAX 256 /* of DIEs; deeper ones are damage */

struct inline_range {
	uint64_t start, end;
	uint32_t index; /* in inlines */
};

struct dwarf_lines {
	Dwfl *dwfl;
	VEC(struct source_row) rows;
	VEC(struct source_function) functions;
	VEC(struct source_inline) inlines;
	VEC(struct inline_range) ranges; /* at first as read; then flat: sorted, none overlaps */
	VEC(const char *) files;
	uint32_t *file_table; /* hash: index + 1 */
	uint32_t file_table_size;
	const void *last_die; /* of this unit, that was read */
	bool damaged;	      /* no more is read of this unit */
	bool failed;	      /* out of memory */
};

/* ---- files ---- */

static uint32_t text_hash(const char *text)
{
	uint32_t h = 2166136261u;
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

static void grow_file_table(struct dwarf_lines *s)
{
	uint32_t size = s->file_table_size ? 2 * s->file_table_size : 256;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table) {
		s->failed = true;
		return;
	}
	for (uint32_t i = 0; i < s->files.n; i++) {
		uint32_t h = text_hash(s->files.at[i]);
		while (table[h & (size - 1)])
			h++;
		table[h & (size - 1)] = i + 1;
	}
	free(s->file_table);
	s->file_table = table;
	s->file_table_size = size;
}

static uint32_t file_number(struct dwarf_lines *s, const char *name)
{
	if (2 * s->files.n >= s->file_table_size)
		grow_file_table(s);
	if (!name || s->failed)
		return SOURCE_NONE;
	uint32_t h = text_hash(name);
	for (uint32_t i; (i = s->file_table[h & (s->file_table_size - 1)]); h++)
		if (!strcmp(s->files.at[i - 1], name))
			return i - 1;
	if (!VEC_PUSH(&s->files, name)) {
		s->failed = true;
		return SOURCE_NONE;
	}
	s->file_table[h & (s->file_table_size - 1)] = (uint32_t)s->files.n;
	return (uint32_t)s->files.n - 1;
}

/* ---- lines ---- */

static void read_lines(struct dwarf_lines *s, Dwarf_Die *cu)
{
	Dwarf_Lines *lines;
	size_t n;
	const char *last = NULL;
	uint32_t file = SOURCE_NONE;
	uint64_t ended = UINT64_MAX; /* where the sequence before ends */
	if (dwarf_getsrclines(cu, &lines, &n))
		return;
	for (size_t i = 0; i + 1 < n && !s->failed; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i),
			   *next = dwarf_onesrcline(lines, i + 1);
		Dwarf_Addr addr, end;
		bool over;
		int number = 0;
		if (dwarf_lineendsequence(line, &over) || dwarf_lineaddr(line, &addr))
			continue;
		ended = over ? addr : ended;
		if (over || dwarf_lineaddr(next, &end) || end <= addr ||
		    dwarf_lineno(line, &number))
			continue;
		/* A last row without code, which libdw sorts behind the sequence's end. */
		if (addr == ended && !dwarf_haspc(cu, addr))
			continue;
		const char *name = dwarf_linesrc(line, NULL, NULL);
		if (name != last)
			file = file_number(s, name);
		last = name;
		struct source_row row = {addr, end, file, number > 0 ? (uint32_t)number : 0};
		if (!VEC_PUSH(&s->rows, row))
			s->failed = true;
	}
}

static void tell_statements(Dwarf_Die *cu, uint32_t line, dwarf_lines_statement_fn *fn, void *ctx)
{
	Dwarf_Lines *lines;
	size_t n;
	if (dwarf_getsrclines(cu, &lines, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;
		bool begins, over;
		int number;
		if (dwarf_lineno(row, &number) || number < 0 || (uint32_t)number != line ||
		    dwarf_linebeginstatement(row, &begins) || !begins ||
		    dwarf_lineendsequence(row, &over) || over || dwarf_lineaddr(row, &addr))
			continue;
		const char *file = dwarf_linesrc(row, NULL, NULL);
		if (file)
			fn(ctx, addr, file);
	}
}

void dwarf_lines_statements(const struct dwarf_lines *s, uint32_t line,
			    dwarf_lines_statement_fn *fn, void *ctx)
{
	Dwarf_Addr bias;
	for (Dwarf_Die *cu = NULL; (cu = dwfl_nextcu(s->dwfl, cu, &bias));)
		tell_statements(cu, line, fn, ctx);
}

static int by_addr(const void *a, const void *b)
{
	const struct source_row *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Sorts the rows; where two overlap (discarded code, mostly) the first ends where the next begins.
 */
static void settle_rows(struct dwarf_lines *s)
{
	size_t n = 0;
	if (s->rows.n)
		qsort(s->rows.at, s->rows.n, sizeof(*s->rows.at), by_addr);
	for (size_t i = 0; i < s->rows.n; i++) {
		struct source_row row = s->rows.at[i];
		if (n && s->rows.at[n - 1].addr == row.addr)
			continue;
		if (n && s->rows.at[n - 1].end > row.addr)
			s->rows.at[n - 1].end = row.addr;
		s->rows.at[n++] = row;
	}
	s->rows.n = n;
}

/* ---- functions and what is inlined in them ---- */

struct scope {
	Dwarf_Files *files;
	size_t n_files;
	uint32_t inlined; /* the innermost inlined call around, or SOURCE_NONE */
	int nesting;
};

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	return dwarf_attr_integrate(die, name, &attr) && !dwarf_formudata(&attr, &value) ? value
											 : 0;
}

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_name, DW_AT_linkage_name};
	Dwarf_Attribute attr;
	for (int i = 0; i < 2; i++) {
		const char *text =
			dwarf_attr_integrate(die, names[i], &attr) ? dwarf_formstring(&attr) : NULL;
		if (text)
			return text;
	}
	return "?";
}

static void add_function(struct dwarf_lines *s, Dwarf_Die *die)
{
	Dwarf_Addr addr;
	int line = 0;
	if (dwarf_entrypc(die, &addr) && dwarf_lowpc(die, &addr))
		return;
	dwarf_decl_line(die, &line);
	struct source_function f = {addr, name_of(die), file_number(s, dwarf_decl_file(die)),
				    line > 0 ? (uint32_t)line : 0};
	if (!VEC_PUSH(&s->functions, f))
		s->failed = true;
}

static uint32_t add_inline(struct dwarf_lines *s, Dwarf_Die *die, const struct scope *scope)
{
	uint32_t index = (uint32_t)s->inlines.n;
	uint64_t call_file = number_of(die, DW_AT_call_file);
	const char *file = call_file < scope->n_files
				   ? dwarf_filesrc(scope->files, call_file, NULL, NULL)
				   : NULL;
	bool nested = scope->inlined != SOURCE_NONE;
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	bool known =
		dwarf_attr(die, DW_AT_abstract_origin, &attr) && dwarf_formref_die(&attr, &origin);
	struct source_inline in = {
		.name = name_of(die),
		.file = file_number(s, file),
		.line = (uint32_t)number_of(die, DW_AT_call_line),
		.parent = scope->inlined,
		.depth = nested ? s->inlines.at[scope->inlined].depth + 1 : 0,
		.origin = known ? (uint32_t)dwarf_dieoffset(&origin) : SOURCE_NONE,
	};
	if (!VEC_PUSH(&s->inlines, in)) {
		s->failed = true;
		return scope->inlined;
	}
	Dwarf_Addr base, start, end;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
		struct inline_range range = {start, end, index};
		if (start < end && !VEC_PUSH(&s->ranges, range))
			s->failed = true;
	}
	return index;
}

static void read_die(struct dwarf_lines *s, Dwarf_Die *die, struct scope scope)
{
	Dwarf_Die child;
	/* They lie in the file in this order. What goes back leads round, or says that a child is
	 * its parent's next sibling as well: read twice at each level, that would never end. */
	if (s->last_die && die->addr <= s->last_die)
		return;
	s->last_die = die->addr;
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		add_function(s, die);
		scope.inlined = SOURCE_NONE;
		break;
	case DW_TAG_inlined_subroutine:
		scope.inlined = add_inline(s, die, &scope);
		break;
	case DW_TAG_compile_unit:
	case DW_TAG_namespace:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		break;
	default:
		return;
	}
	/* To find what is behind such a one each level above would go through all below it again.
	 */
	s->damaged |= ++scope.nesting > NESTING_MAX;
	if (s->damaged || dwarf_child(die, &child))
		return;
	do
		read_die(s, &child, scope);
	while (!s->failed && !s->damaged && !dwarf_siblingof(&child, &child));
}

static int outer_first(const void *a, const void *b, void *ctx)
{
	const struct dwarf_lines *s = ctx;
	const struct inline_range *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	uint32_t dx = s->inlines.at[x->index].depth, dy = s->inlines.at[y->index].depth;
	return dx != dy ? (dx < dy ? -1 : 1) : (x->index > y->index) - (x->index < y->index);
}

/* Turns nested ranges into flat ones, each with its innermost call. */
static void flatten_ranges(struct dwarf_lines *s)
{
	uint32_t n = s->ranges.n, open = 0, flat = 0;
	if (!n)
		return;
	qsort_r(s->ranges.at, n, sizeof(*s->ranges.at), outer_first, s);
	struct inline_range *stack = malloc(n * sizeof(*stack));
	struct inline_range *out = malloc((2 * n + 1) * sizeof(*out));
	if (!stack || !out) {
		free(stack);
		free(out);
		s->failed = true;
		return;
	}
	uint64_t at = 0;
	for (size_t i = 0; i <= n; i++) {
		uint64_t start = i < n ? s->ranges.at[i].start : UINT64_MAX;
		while (open && stack[open - 1].end <= start) {
			struct inline_range top = stack[--open];
			if (top.end > at)
				out[flat++] = (struct inline_range){at, top.end, top.index};
			at = top.end > at ? top.end : at;
		}
		if (i == n)
			break;
		if (open && start > at)
			out[flat++] = (struct inline_range){at, start, stack[open - 1].index};
		at = start;
		struct inline_range range = s->ranges.at[i];
		if (open && range.end > stack[open - 1].end)
			range.end = stack[open - 1].end; /* reaches out of what is around it */
		stack[open++] = range;
	}
	free(stack);
	free(s->ranges.at);
	s->ranges.at = out;
	s->ranges.n = flat;
	s->ranges.max = 2 * n + 1;
}

/* ---- all of it ---- */

static void read_units(struct dwarf_lines *s, Dwfl_Module *module)
{
	Dwarf_Addr bias = 0;
	for (Dwarf_Die *cu = NULL; !s->failed && (cu = dwfl_module_nextcu(module, cu, &bias));) {
		struct scope scope = {.inlined = SOURCE_NONE};
		if (dwarf_getsrcfiles(cu, &scope.files, &scope.n_files))
			scope.n_files = 0;
		read_lines(s, cu);
		s->last_die = NULL;
		s->damaged = false;
		read_die(s, cu, scope);
	}
}

static int function_by_addr(const void *a, const void *b)
{
	const struct source_function *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int dwarf_lines_open(const char *path, struct dwarf_lines **out, struct pugmark_diag *diag)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_files_find,
		.section_address = dwfl_offline_section_address,
	};
	struct dwarf_lines *s = calloc(1, sizeof(*s));
	if (!s)
		return pugmark_diag_set(diag, -ENOMEM, path, PUGMARK_NO_OFFSET, "out of memory");
	s->dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = s->dwfl ? debug_files_report(s->dwfl, path) : NULL;
	if (module) {
		dwfl_report_end(s->dwfl, NULL, NULL);
		read_units(s, module);
		settle_rows(s);
		flatten_ranges(s);
		if (s->functions.n)
			qsort(s->functions.at, s->functions.n, sizeof(*s->functions.at),
			      function_by_addr);
	}
	int err = s->failed ? -ENOMEM : !s->rows.n ? -ENODATA : 0;
	if (err)
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
				 err == -ENOMEM
					 ? "out of memory"
					 : "no source lines: it needs debug information "
					   "(compile with -g, or install its debug symbols)");
	if (err)
		dwarf_lines_free(s);
	else
		*out = s;
	return err;
}

void dwarf_lines_free(struct dwarf_lines *s)
{
	if (!s)
		return;
	VEC_FREE(&s->rows);
	VEC_FREE(&s->functions);
	VEC_FREE(&s->inlines);
	VEC_FREE(&s->ranges);
	VEC_FREE(&s->files);
	free(s->file_table);
	if (s->dwfl)
		dwfl_end(s->dwfl);
	free(s);
}

const struct source_row *dwarf_lines_row_at(const struct dwarf_lines *s, uint64_t addr)
{
	size_t lo = SEARCH_FIRST_NOT(0, s->rows.n, i, s->rows.at[i].end <= addr);
	return lo < s->rows.n && s->rows.at[lo].addr <= addr ? &s->rows.at[lo] : NULL;
}

const char *dwarf_lines_file(const struct dwarf_lines *s, uint32_t file)
{
	return file < s->files.n ? s->files.at[file] : "?";
}

const struct source_function *dwarf_lines_functions(const struct dwarf_lines *s, uint32_t *n)
{
	*n = (uint32_t)s->functions.n;
	return s->functions.at;
}

uint32_t dwarf_lines_inline_at(const struct dwarf_lines *s, uint64_t addr)
{
	size_t lo = SEARCH_FIRST_NOT(0, s->ranges.n, i, s->ranges.at[i].end <= addr);
	bool in = lo < s->ranges.n && s->ranges.at[lo].start <= addr;
	return in ? s->ranges.at[lo].index : SOURCE_NONE;
}

const struct source_inline *dwarf_lines_inlines(const struct dwarf_lines *s)
{
	return s->inlines.at;
}
