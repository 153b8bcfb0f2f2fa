/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dwarf_lines.h: what DWARF says about code: which source line an instruction is of, where
 * functions are declared, and which inlined calls it lies in. Read by libdw, from the file itself
 * or its separate debug file. All strings and arrays are borrowed until dwarf_lines_free(). */
#ifndef USER_DWARF_LINES_H
#define USER_DWARF_LINES_H

#include <stdint.h>

#include <pugmark/diag.h>

#define SOURCE_NONE UINT32_MAX

/* Code of one line: [addr, end). */
struct source_row {
	uint64_t addr, end;
	uint32_t file, line; /* line 0: of no line */
};

/* One function that was inlined at one place. */
struct source_inline {
	const char *name;    /* as in the source; the linkage name if there is no other */
	uint32_t file, line; /* of the call */
	uint32_t parent;     /* the one it was inlined into, or SOURCE_NONE: a real function */
	uint32_t depth;	     /* how many are around it */
	uint32_t origin;     /* the same for all places that the same function was inlined at */
};

struct dwarf_lines;

/* Returns 0 and what the caller frees with dwarf_lines_free(); -ENODATA with @diag filled where
 * @path has no line table, or -errno. */
int dwarf_lines_open(const char *path, struct dwarf_lines **out, struct pugmark_diag *diag);
void dwarf_lines_free(struct dwarf_lines *source);

/* The row that holds @addr, or NULL. */
const struct source_row *dwarf_lines_row_at(const struct dwarf_lines *source, uint64_t addr);
/* Tells @fn where statements of @line begin, by the line table, with the name of their file: also
 * where no row is of that line, as another line begins at the same instruction; in no order. */
typedef void dwarf_lines_statement_fn(void *ctx, uint64_t addr, const char *file);
void dwarf_lines_statements(const struct dwarf_lines *source, uint32_t line,
			    dwarf_lines_statement_fn *fn, void *ctx);
const char *dwarf_lines_file(const struct dwarf_lines *source, uint32_t file);
/* Where the function at @addr is declared, and its name there; false: not known. */
struct source_function {
	uint64_t addr;
	const char *name;
	uint32_t file, line;
};
const struct source_function *dwarf_lines_functions(const struct dwarf_lines *source, uint32_t *n);
/* The innermost inlined call that the instruction at @addr is of, or SOURCE_NONE. */
uint32_t dwarf_lines_inline_at(const struct dwarf_lines *source, uint64_t addr);
const struct source_inline *dwarf_lines_inlines(const struct dwarf_lines *source);

#endif
