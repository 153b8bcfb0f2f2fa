/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* line_counts.h: how often source lines were executed, from how often blocks and edges were. */
#ifndef USER_LINE_COUNTS_H
#define USER_LINE_COUNTS_H

#include "user/file/dwarf_lines.h"
#include "user/view/lines/block_counts.h"

struct line_count {
	uint32_t file, line; /* of the source */
	uint64_t count;
};

/* A function that is in the model and in the source. */
struct function_count {
	const char *name; /* borrowed from the source */
	uint32_t file, line;
	uint64_t calls;
};

struct line_counts {
	struct line_count *lines; /* those with code, by file, then line; once each */
	uint32_t n_lines;
	struct function_count *functions; /* by file, then line */
	uint32_t n_functions;
};

/* Counts each line as gcov does: how often it was entered from other lines and, where loops lie in
 * it alone, how many rounds they made. Only functions f with @shown[f] (NULL: all). 0 or
 * -ENOMEM. */
int line_counts_collect(const struct pugmark_model *model, const struct block_counts *counts,
			const struct dwarf_lines *source, const bool *shown,
			struct line_counts *out);
void line_counts_deinit(struct line_counts *counts);

#endif
