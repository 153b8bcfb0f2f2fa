/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choice.h: which calls of a function are slow requests, asked while the trace is walked again. */
#ifndef USER_REQUEST_CHOICE_H
#define USER_REQUEST_CHOICE_H

#include "user/request/requests.h"

struct request_choice {
	struct requests requests;
	uint64_t *at; /* heap: by task, the first request that has not begun yet */
};

/* Finds the requests of @func (activations only: -EINVAL) in @view; @limit_ns as of
 * requests_find(). Returns 0, or -errno with @diag filled; request_choice_deinit() either way. */
int request_choose(struct trace_view *view, const char *func, uint64_t limit_ns,
		   struct request_choice *out, struct pugmark_diag *diag);
void request_choice_deinit(struct request_choice *choice);
/* Whether @call of thread @task, which begins a request, is a slow one. Each thread's calls have to
 * come in their order; it begins anew when a thread does. */
bool request_choice_takes(void *choice, uint32_t task, const struct call *call);

#endif
