/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* feed.h: a thread's events as calls, together with the arguments and results that were recorded.
 */
#ifndef USER_REQUEST_FEED_H
#define USER_REQUEST_FEED_H

#include "user/request/walk.h"

struct request_feed {
	const struct trace_view *view;
	const struct request_of *of;
	const struct request_sink *sink;
	void *ctx; /* the sink's */
	struct calls calls;
	/* Of the event that is fed. */
	struct pugmark_trace_event event;
	uint64_t values[N_REQUEST_IDS]; /* by enum request_id */
	uint32_t known;			/* bits: by the same */
};

/* Feeds thread @task into feed->calls, which has the sink @calls and @ctx as its context. Returns 0
 * or -errno. */
int request_feed(struct request_feed *feed, uint32_t task, const struct calls_sink *calls,
		 void *ctx);
/* The argument @id of @call, which begins; false: it was not read. */
bool request_argument(const struct request_feed *feed, const struct call *call, uint8_t id,
		      uint64_t *out);
/* What @id, of those that are known then, is of @call, which ends; false: it was not read. */
bool request_result(const struct request_feed *feed, const struct call *call, uint8_t id,
		    uint64_t *out);
/* Whether a call that begins is within the time that is shown. */
bool request_in_time(const struct request_feed *feed, const struct call *call);

/* The two ways to cut. */
int request_walk_activations(struct request_feed *feed, uint32_t task);
int request_walk_between(struct request_feed *feed, uint32_t task);

#endif
