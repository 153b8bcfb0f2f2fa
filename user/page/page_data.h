/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* page_data.h: the part of the page that is JSON: what was recorded, functions with callers and
 * callees, the tree of call stacks, threads, gaps, the slowest calls. app.js reads it. */
#ifndef USER_PAGE_PAGE_DATA_H
#define USER_PAGE_PAGE_DATA_H

#include "user/page/page.h"

struct page_gaps {
	struct page_gap {
		struct export_gap gap;
		uint32_t task;
	} * at;	    /* heap */
	uint32_t n; /* PAGE_GAPS_MAX at most */
};

struct page_facts {
	uint64_t end_ns; /* of what is drawn */
	uint64_t cut;	 /* the timeline has only so many events; 0: all */
	const struct page_gaps *gaps;
	bool served; /* the timeline is asked for by ranges */
};

/* The page up to where its data comes; @served: it may ask who served it. And the data with all
 * that follows. */
void page_begin(struct outbuf *out, bool served);
void page_end(struct export *x, const struct page_facts *facts);

void page_gaps_add(struct page_gaps *gaps, struct export *x, const struct export_gap *gap);
/* The thread's place among those that are shown. */
uint32_t page_thread(const struct export *x, uint32_t task);
/* page_end()'s JSON. */
void page_data(struct export *x, const struct page_facts *facts);

#endif
