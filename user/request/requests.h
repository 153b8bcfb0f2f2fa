/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* requests.h: all requests of a recording, and how they fall into fast and slow ones. */
#ifndef USER_REQUEST_REQUESTS_H
#define USER_REQUEST_REQUESTS_H

#include "user/request/walk.h"
#include "user/view/report/durations.h"

enum request_class {
	REQUEST_FAST, /* it certainly took less than the limit */
	REQUEST_SLOW, /* it certainly took the limit or longer */
	N_REQUEST_CLASSES,
	REQUEST_BETWEEN = N_REQUEST_CLASSES, /* its bounds are on both sides of the limit */
	REQUEST_PART, /* its end is not in the recording, or a gap is in it */
};

struct request {
	uint64_t from_ns, to_ns; /* it began between these, CLOCK_MONOTONIC */
	struct time_bounds took;
	uint64_t identity;
	uint8_t class; /* enum request_class */
	bool identified;
};

struct request_list {
	struct request *at; /* heap, by number */
	uint64_t n, cap;
};

struct requests {
	struct request_of of;
	struct request_list *tasks; /* heap, by index of the recording's tasks */
	uint32_t n_tasks;
	uint64_t n, n_of[REQUEST_PART + 1];
	uint64_t identified;
	uint64_t limit_ns;
	/* The part of the spread of the durations that the limit explains, 0 to 1. */
	double explained;
	struct durations certain[N_REQUEST_CLASSES], possible[N_REQUEST_CLASSES];
};

/* Finds the requests that @text says (spec.h), in what @view shows, and divides them at @limit_ns,
 * or where that is 0 at the limit that leaves least spread on both sides. Returns 0, or -errno with
 * @diag filled (-ENOENT: no such function, or no request of it; -ENODATA: its identity was not
 * recorded); requests_deinit() either way. */
int requests_find(struct trace_view *view, const char *text, uint64_t limit_ns,
		  struct requests *out, struct pugmark_diag *diag);
void requests_deinit(struct requests *requests);

#endif
