// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_lines.c: see value_lines.h. The line table marks where statements begin, which is where a
 * debugger stops: there the variables are what the source says that they are. Rows that begin none
 * are pieces of a statement that the compiler has moved elsewhere. */
#include "user/values/names/value_lines.h"

#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether @file, as DWARF has it, is what the user calls @name. */
static bool is_file(const char *file, const char *name)
{
	size_t len = strlen(file), want = strlen(name);

	return len >= want && !strcmp(file + len - want, name) &&
	       (len == want || file[len - want - 1] == '/');
}

/* Where a line is looked for, in a module. */
struct line_search {
	const struct dwarf_lines *lines;
	const char *name; /* of the file */
	uint32_t line;
	uint64_t from, to; /* its code */
	VEC(uint64_t) begins;
	bool failed;
};

static bool is_of_line(const struct line_search *s, const struct source_row *row)
{
	return row && row->line == s->line &&
	       is_file(dwarf_lines_file(s->lines, row->file), s->name);
}

static void take_statement(void *ctx, uint64_t addr, const char *file)
{
	struct line_search *s = ctx;

	if (addr >= s->from && addr < s->to && is_file(file, s->name) &&
	    dwarf_lines_row_at(s->lines, addr))
		s->failed |= !VEC_PUSH(&s->begins, addr);
}

/* For a line of which the table marks no statement: each row of the line. */
static void take_rows(struct line_search *s)
{
	const struct source_row *row;

	for (uint64_t at = s->from; at < s->to; at = row ? row->end : at + 1) {
		row = dwarf_lines_row_at(s->lines, at);
		if (is_of_line(s, row))
			s->failed |= !VEC_PUSH(&s->begins, row->addr);
	}
}

/* Where to stop for the statement that begins at @at, where the row of the table is @row. That row
 * may be of another line, as one instruction can be of two: variables are then as in the other
 * line. If the row behind it is of the line, that is the place. */
static uint64_t own_code(const struct line_search *s, uint64_t at, const struct source_row *row)
{
	bool own = is_of_line(s, row) ||
		   !is_of_line(s, row ? dwarf_lines_row_at(s->lines, row->end) : NULL);

	return own ? at : row->end;
}

/* One place for each run of code of the line: a statement that begins inside of a run, or right
 * behind it, has none of its own. @over is where the run ends. */
static bool put_places(const struct line_search *s, struct value_line_places *out)
{
	uint64_t over = 0;

	for (size_t i = 0; i < s->begins.n; i++) {
		const uint64_t at = s->begins.at[i];
		const struct source_row *row = dwarf_lines_row_at(s->lines, at);

		if ((at > over || !i) && !VEC_PUSH(out, own_code(s, at, row)))
			return false;
		for (; row && row->end > over; row = dwarf_lines_row_at(s->lines, over)) {
			if (row->addr > at && !is_of_line(s, row))
				break;
			over = row->end;
		}
	}
	return true;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int value_line_places(const struct dwarf_lines *lines, const char *name, uint32_t line,
		      uint64_t from, uint64_t to, struct value_line_places *out)
{
	struct line_search s = {.lines = lines, .name = name, .line = line, .from = from, .to = to};

	dwarf_lines_statements(lines, line, take_statement, &s);
	if (!s.begins.n)
		take_rows(&s);
	else
		qsort(s.begins.at, s.begins.n, sizeof(*s.begins.at), by_value);
	bool done = !s.failed && put_places(&s, out);
	VEC_FREE(&s.begins);
	return done ? 0 : -ENOMEM;
}
