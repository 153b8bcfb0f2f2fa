/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* same_pages.h: of each page that a window touches, which words are known to be the same on both
 * sides (noting.h): a hash table, and before it a cache by the low bits of a page's number. */
#ifndef OFFLINE_WET_SAME_PAGES_H
#define OFFLINE_WET_SAME_PAGES_H

#include "offline/eval/memory/memory.h"

#include <string.h>

enum { SAME_WORDS = VALUE_PAGE / 8, SAME_NEAR = 256 };

struct same_page {
	uint64_t number; /* address by 4096, + 1; 0: free */
	uint32_t code;	 /* which page of code it is, + 1; 0: none */
	bool changed;	 /* since the window has begun anew */
	uint64_t when;	 /* struct same_pages.when at which .same was right */
	uint64_t same[SAME_WORDS / 64];
};

struct same_pages {
	uint64_t when; /* how often the second side has gone back: pages are not the same */
	struct same_page **slots;
	uint32_t n, n_slots;
	struct same_page *near[SAME_NEAR];
};

/* False: out of memory. */
bool same_pages_init(struct same_pages *pages);
void same_pages_deinit(struct same_pages *pages);
/* Forgets all. */
void same_pages_clear(struct same_pages *pages);
/* Page @number if it is there; NULL. */
struct same_page *same_pages_known(const struct same_pages *pages, uint64_t number);
/* Page @number, which is made if it is not there; NULL: out of memory. */
struct same_page *same_pages_make(struct same_pages *pages, uint64_t number);

static inline struct same_page *same_pages_at(struct same_pages *pages, uint64_t number)
{
	struct same_page *near = pages->near[number % SAME_NEAR];
	return near && near->number == number + 1 ? near : same_pages_make(pages, number);
}

/* The same, with bits that are right. */
static inline struct same_page *same_pages_now(struct same_pages *pages, uint64_t number)
{
	struct same_page *page = same_pages_at(pages, number);
	if (page && page->when != pages->when) {
		memset(page->same, 0, sizeof(page->same));
		page->when = pages->when;
	}
	return page;
}

#endif
