/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* landing.h: which call an exception has come out of, by where it has landed. */
#ifndef OFFLINE_RECOVER_LANDING_H
#define OFFLINE_RECOVER_LANDING_H

#include "offline/recover/explain/explain.h"

#define LANDING_PATH_MAX 256

/* The way to the call: the first @from frames are open, and the innermost of them goes over the
 * nodes in @path, or is in the call already, if there are none. In the end @open are open. */
struct landing {
	uint32_t from, open, n;
	struct landing_step {
		uint32_t node;
		bool enters; /* its callee's frame is the innermost then */
	} path[LANDING_PATH_MAX];
};

/* The one call by which an exception can have landed where the event is: in frame @level, or in the
 * frame that the @n_links calls in @links have made inside of it. False: none, or several can, or
 * nothing tells. */
bool landing_find(const struct parser *parser, const struct lookahead *la, uint32_t level,
		  const struct stack_link *links, uint32_t n_links, struct landing *out);
/* Whether @call, of the same function, returns to @node and nowhere else. */
bool landing_is_behind(const struct pugmark_plan *plan, uint32_t call, uint32_t node);
/* Brings the parser to that call. Returns whether it is there. */
bool landing_go(struct parser *parser, const struct landing *at);

#endif
