// SPDX-License-Identifier: LGPL-2.1-or-later
/* replanner.c: see replanner.h. What is planned is recorder_options.replan's to know. */
#include "user/record/probed/replanner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Raises its priority: planning takes as much processor time sooner or later, and until it is done
 * the trace may have a gap. Without CAP_SYS_NICE it takes its turn. */
enum { NICE = -10 };

struct replanner {
	const struct recorder_options *options;
	struct recorder_options changed;
	struct replan_request request; /* its lists: heap */
	struct taken_out *taken;
	pid_t *pids;
	struct overhead *overhead; /* NULL: nothing more goes */
	char *news;
	pthread_t thread;
	bool done, cancelled;
	double began_s, seconds, cpu_seconds;
	int err;
	struct pugmark_diag diag;
};

static double seconds(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void *plan_main(void *context)
{
	struct replanner *r = context;
	setpriority(PRIO_PROCESS, gettid(), NICE); /* of this thread: Linux keeps that apart */
	if (r->overhead) {
		int more = overhead_choose(r->overhead);
		r->err = more < 0 ? more : !more && !overhead_is_far(r->overhead) ? -EALREADY : 0;
		r->request.out = overhead_taken(r->overhead, &r->request.n_out);
	}
	if (!r->err)
		r->err = r->options->replan(r->options->replan_ctx, &r->request, &r->changed,
					    &r->news, &r->diag);
	r->seconds = seconds(CLOCK_MONOTONIC) - r->began_s;
	r->cpu_seconds = seconds(CLOCK_THREAD_CPUTIME_ID);
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
		    const struct replan_request *request, struct overhead *overhead,
		    struct replanner **out)
{
	struct replanner *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->options = options;
	r->changed = *now;
	r->diag.offset = PUGMARK_NO_OFFSET;
	r->overhead = overhead;
	r->began_s = seconds(CLOCK_MONOTONIC);
	r->request = *request;
	r->request.cancelled = &r->cancelled;
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

void replanner_took(const struct replanner *r, double *seconds, double *cpu_seconds)
{
	*seconds = r->seconds;
	*cpu_seconds = r->cpu_seconds;
}

bool replanner_done(const struct replanner *r)
{
	return __atomic_load_n(&r->done, __ATOMIC_ACQUIRE);
}

void replanner_cancel(struct replanner *r)
{
	__atomic_store_n(&r->cancelled, true, __ATOMIC_RELEASE);
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
