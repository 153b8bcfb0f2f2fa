/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* page.h: a recording as one HTML file that needs nothing else: overview, flame graph, timeline,
 * call tree and functions. It is written like an export (user/export/export.h), by a format that is
 * in no table: the file begins with the events of the timeline, as a stream; what is added up
 * follows. */
#ifndef USER_PAGE_PAGE_H
#define USER_PAGE_PAGE_H

#include "user/export/export.h"
#include "user/view/report/report.h"

/* Events that the timeline has at most: so many are drawn without a wait. */
enum { PAGE_EVENTS_MAX = 4000000, PAGE_SLOWEST = 500, PAGE_GAPS_MAX = 10000 };

/* export.about of this format. Borrowed. */
struct page_about {
	const struct report *report; /* what has been counted, with PAGE_SLOWEST slowest calls */
	const char *against;  /* JSON: {"title": ..., "rows": as user/view/compare/compare_show.h};
				 NULL: none */
	const char *requests; /* JSON, as user/request/show.h writes it; NULL: none */
	const char *automata; /* JSON, as `encode --fsa` writes it; NULL: none */
	const char *blocks;   /* JSON, as user/view/lines/block_listing.h writes it; NULL: none */
};

extern const struct export_format page_format;

#endif
