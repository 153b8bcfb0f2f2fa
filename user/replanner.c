// SPDX-License-Identifier: LGPL-2.1-or-later
/* replanner.c: see replanner.h. What is planned is recorder_options.replan's to know. */
#include "user/replanner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICE = 5 };

struct replanner {
	const struct recorder_options *options;
	struct recorder_options changed;
	struct replan_request request; /* its lists: heap */
	struct taken_out *taken;
	pid_t *pids;
	char *news;
	pthread_t thread;
	bool haste, done;
	int err;
	struct pugmark_diag diag;
};

static void *plan_main(void *context)
{
	struct replanner *r = context;
	if (!r->haste) /* of this thread: Linux keeps that apart for each */
		setpriority(PRIO_PROCESS, gettid(), NICE);
	r->err = r->options->replan(r->options->replan_ctx, &r->request, &r->changed, &r->news,
				    &r->diag);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void replanner_free(struct replanner *r)
{
	free(r->taken);
	free(r->pids);
	free(r->news);
	free(r);
}

int replanner_start(const struct recorder_options *options, const struct recorder_options *now,
		    const struct replan_request *request, bool haste, struct replanner **out)
{
	struct replanner *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->options = options;
	r->changed = *now;
	r->diag.offset = PUGMARK_NO_OFFSET;
	r->haste = haste;
	r->request = *request;
	r->request.out = r->taken = calloc(request->n_out + 1, sizeof(*r->taken));
	r->request.pids = r->pids = calloc(request->n_pids + 1, sizeof(*r->pids));
	if (r->taken && request->n_out)
		memcpy(r->taken, request->out, request->n_out * sizeof(*r->taken));
	if (r->pids && request->n_pids)
		memcpy(r->pids, request->pids, request->n_pids * sizeof(*r->pids));
	if (!r->taken || !r->pids || pthread_create(&r->thread, NULL, plan_main, r)) {
		replanner_free(r);
		return -EAGAIN;
	}
	*out = r;
	return 0;
}

bool replanner_done(const struct replanner *r)
{
	return __atomic_load_n(&r->done, __ATOMIC_ACQUIRE);
}

int replanner_finish(struct replanner *r, struct recorder_options *changed, char **news,
		     struct pugmark_diag *diag)
{
	pthread_join(r->thread, NULL);
	int err = r->err;
	if (changed && !err)
		*changed = r->changed;
	if (diag && err)
		*diag = r->diag;
	if (news) {
		*news = r->news;
		r->news = NULL;
	}
	replanner_free(r);
	return err;
}
