// SPDX-License-Identifier: LGPL-2.1-or-later
/* choice.c: see choice.h. A request is known again by when it began. */
#include "user/request/choice.h"

#include <errno.h>
#include <stdlib.h>

int request_choose(struct trace_view *view, const char *func, uint64_t limit_ns,
		   struct request_choice *out, struct pugmark_diag *diag)
{
	*out = (struct request_choice){0};
	if (!view->info->times)
		return pugmark_diag_set(diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
					"it was recorded without times: which requests are slow is "
					"not known");
	int err = requests_find(view, func, limit_ns, &out->requests, diag);
	if (!err && out->requests.of.spec.last)
		err = pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
				       "--request of an export takes one function");
	out->at = err ? NULL : calloc(view->n_tasks + 1ul, sizeof(*out->at));
	return err ? err : out->at ? 0 : trace_view_no_memory(view, diag);
}

void request_choice_deinit(struct request_choice *choice)
{
	requests_deinit(&choice->requests);
	free(choice->at);
	*choice = (struct request_choice){0};
}

bool request_choice_takes(void *ctx, uint32_t task, const struct call *call)
{
	struct request_choice *c = ctx;
	const struct request_list *list = &c->requests.tasks[task];
	uint64_t *at = &c->at[task];
	if (*at && list->at[*at - 1].from_ns > call->from_ns)
		*at = 0;
	while (*at < list->n && list->at[*at].from_ns < call->from_ns)
		++*at;
	if (*at == list->n || list->at[*at].from_ns != call->from_ns ||
	    list->at[*at].to_ns != call->to_ns)
		return false;
	return list->at[(*at)++].class == REQUEST_SLOW;
}
