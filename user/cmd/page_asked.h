/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* page_asked.h: what a page has from other rooms: requests (--request) and another recording beside
 * this one (--against) where they are asked for, the automata of what functions call, and at level
 * paths their blocks. For `report --html` and `serve`. */
#ifndef USER_CMD_PAGE_ASKED_H
#define USER_CMD_PAGE_ASKED_H

#include "user/page/page.h"

struct page_asked {
	const char *request; /* as user/request/spec.h says, or NULL */
	uint64_t longer_ns;  /* --request: slow is what took so long; 0: found */
	const char *against; /* another recording, or NULL */
	char *requests_json; /* heap: what page_about wants */
	char *against_json;  /* the same */
	char *automata_json;
	char *blocks_json;
};

/* Walks the view, which is open, and the other recording, as far as ->request and ->against ask for
 * it, and once more for automata and blocks. @out is written over. 0 or -errno with @diag filled;
 * page_asked_deinit() in both cases. */
int page_asked_collect(struct page_asked *asked, struct trace_view *view, struct outbuf *out,
		       struct pugmark_diag *diag);
void page_asked_deinit(struct page_asked *asked);

#endif
