/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* untraced.h: where most of the time lies in a library that is not traced, or in functions that no
 * witness tells apart. */
#ifndef USER_VIEW_UNTRACED_H
#define USER_VIEW_UNTRACED_H

#include "user/view/report/report.h"

struct untraced {
	const char *library; /* base name; borrowed from the recording */
	uint32_t func;	     /* the import that took most, index of report->funcs */
	unsigned percent;    /* of the time of all threads, at most: what it took */
	bool certain;	     /* it certainly took more than half */
};

/* Whether more than half of the time of the threads may have passed in one function of a library
 * that is not traced (what is in the C library waits as a rule, and does not count), by the
 * mappings that were recorded and the files that they are of. */
bool untraced_most(const struct trace_view *view, const struct report *report,
		   struct untraced *out);

enum { UNTOLD_MAX = 4 };
/* The functions, at most so many (imports first, since these are what waits), each of which may
 * have had more than half of the time of what was called, while less than a tenth of that is
 * certain: in
 * @funcs, indices of report->funcs. Returns how many, or 0 where it is a single one. *@percent: of
 * that time, what one of them took at most. */
uint32_t untold_most(const struct report *report, uint32_t funcs[UNTOLD_MAX], unsigned *percent);

#endif
