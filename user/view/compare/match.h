/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* match.h: which functions without a name in two builds of a program are the same: by whom they
 * call, who calls them, and what their neighbours are, and not by their addresses. */
#ifndef USER_VIEW_MATCH_H
#define USER_VIEW_MATCH_H

#include "user/view/report/report.h"

/* Two functions without a name that are known to be the same, by their names in each recording. */
struct match_known {
	const char *first, *second;
	bool used; /* both ran, and the second goes by the name of the first now */
};

/* Gives functions of the second view the names of those of the first that they match (no other has
 * the same neighbourhood), first those that are @known. Returns how many there are, or -ENOMEM. */
int64_t match_functions(struct trace_view *const views[2], const struct report *const reports[2],
			struct match_known *known, size_t n_known);

#endif
