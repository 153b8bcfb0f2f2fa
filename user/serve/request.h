/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* request.h: reads the head of an HTTP request and decides what it may have. Any process of this
 * machine can send one, and so can any site that is open in a browser here: a request needs the
 * token, names this host alone, and comes from no other site's page. */
#ifndef USER_SERVE_REQUEST_H
#define USER_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUEST_HEAD_MAX = 8192, TOKEN_BYTES = 32, REQUEST_WIDTH_MAX = 8192 };

enum request_what { REQUEST_PAGE, REQUEST_RANGE };

struct request {
	enum request_what what;
	bool head_only;		 /* HEAD */
	uint64_t from_ns, to_ns; /* REQUEST_RANGE: from < to */
	uint32_t width;		 /* REQUEST_RANGE: pixels, 1 to REQUEST_WIDTH_MAX */
};

/* What is accepted. */
struct request_rules {
	char token[TOKEN_BYTES + 1];
	uint16_t port; /* 0: any, as of what is forwarded to a Unix socket */
};

/* The length of the head in @bytes, with the empty line that ends it; 0: there is no end yet. */
size_t request_head_length(const char *bytes, size_t n);
/* Reads a whole head of @n bytes. Returns the HTTP status: 200 with @out filled, or 400, 403, 404,
 * 405. */
int request_read(const char *head, size_t n, const struct request_rules *rules,
		 struct request *out);

#endif
