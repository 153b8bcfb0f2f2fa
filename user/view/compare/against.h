/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* against.h: two recordings counted, and compared function by function. */
#ifndef USER_VIEW_AGAINST_H
#define USER_VIEW_AGAINST_H

#include "user/view/compare/compare.h"
#include "user/view/compare/match.h"

struct against {
	struct report reports[2];
	struct compare compare;
	int64_t matched; /* functions of the second that have names of the first now */
};

/* Counts both views, which are open; with @match, functions without names are matched first
 * (match.h), those that are @known before the others. Returns 0, or -errno with @diag filled;
 * against_deinit() either way. */
int against_collect(struct trace_view *const views[2], bool match, struct match_known *known,
		    size_t n_known, struct against *out, struct pugmark_diag *diag);
void against_deinit(struct against *against);

#endif
