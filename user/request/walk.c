// SPDX-License-Identifier: LGPL-2.1-or-later
/* walk.c: see walk.h: which of the two ways to cut it is. */
#include "user/request/feed.h"

int request_walk(const struct trace_view *view, const struct request_of *of, uint32_t task,
		 const struct request_sink *sink, void *ctx)
{
	struct request_feed feed = {.view = view, .of = of, .sink = sink, .ctx = ctx};
	return of->spec.last ? request_walk_between(&feed, task)
			     : request_walk_activations(&feed, task);
}
