/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report_lines.h: `pugmark report --lines` and `--coverage`: which source lines a recording of
 * level paths executed. */
#ifndef USER_REPORT_LINES_H
#define USER_REPORT_LINES_H

#include "user/cli/outbuf.h"
#include "user/view/trace/trace_view.h"

enum lines_format {
	LINES_TEXT,
	LINES_JSON,
	LINES_LCOV, /* as lcov's geninfo writes it, lines that were not executed included */
};

/* Shows the lines of all modules of the open view that were recorded with their blocks and have
 * debug information. @binary, if not NULL, is where the one module is now. *@gaps: how many there
 * are in the shown threads. Returns 0, or -errno with @diag filled (-ENODATA: no module has
 * lines). */
int report_lines(struct trace_view *view, const char *binary, enum lines_format format,
		 struct outbuf *out, uint64_t *gaps, struct pugmark_diag *diag);

#endif
