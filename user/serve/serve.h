/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* serve.h: a recording's page that asks for its timeline by ranges, and who answers it. */
#ifndef USER_SERVE_SERVE_H
#define USER_SERVE_SERVE_H

#include "user/page/page.h"
#include "user/serve/ranges.h"
#include "user/serve/request.h"

struct served {
	struct ranges *ranges;
	char *page; /* heap */
	size_t page_bytes;
};

/* Walks what @x's view shows, once, into @out, with what @about says beside it; @fd: an empty file
 * for the calls, which is taken. x->replay.view and ->out are the caller's. 0 or -errno with @diag
 * filled. */
int serve_collect(struct export *x, const struct page_about *about, int fd, struct served *out,
		  struct pugmark_diag *diag);
void served_deinit(struct served *served);

/* From now on SIGINT, SIGTERM and SIGHUP end serve_loop(), and nothing else. */
void serve_catch_end(void);
/* Answers on @listener until then, at most SERVE_CONNECTIONS at a time; one that has not sent its
 * request within REQUEST_SECONDS, or taken 64 KiB of its answer within ANSWER_SECONDS, is closed.
 * An answer may take ANSWER_PROCESSOR_SECONDS to make; how many are made has no bound. */
enum {
	SERVE_CONNECTIONS = 32,
	REQUEST_SECONDS = 10,
	ANSWER_SECONDS = 60,
	ANSWER_PROCESSOR_SECONDS = 600
};
int serve_loop(int listener, const struct request_rules *rules, const struct served *served,
	       struct pugmark_diag *diag);

#endif
