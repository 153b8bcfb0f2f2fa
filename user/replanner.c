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
	struct taken_out *taken; /* heap */
	uint32_t n_taken;
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
	r->err = r->options->replan(r->options->replan_ctx, r->taken, r->n_taken, &r->changed,
				    &r->diag);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	return NULL;
}

int replanner_start(const struct recorder_options *options, const struct recorder_options *now,
		    const struct taken_out *taken, uint32_t n_taken, bool haste,
		    struct replanner **out)
{
	struct replanner *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->options = options;
	r->changed = *now;
	r->diag.offset = PUGMARK_NO_OFFSET;
	r->taken = malloc((n_taken + 1) * sizeof(*taken));
	r->n_taken = n_taken;
	r->haste = haste;
	if (r->taken)
		memcpy(r->taken, taken, n_taken * sizeof(*taken));
	if (!r->taken || pthread_create(&r->thread, NULL, plan_main, r)) {
		free(r->taken);
		free(r);
		return -EAGAIN;
	}
	*out = r;
	return 0;
}

bool replanner_done(const struct replanner *r)
{
	return __atomic_load_n(&r->done, __ATOMIC_ACQUIRE);
}

int replanner_finish(struct replanner *r, struct recorder_options *changed,
		     struct pugmark_diag *diag)
{
	pthread_join(r->thread, NULL);
	int err = r->err;
	if (changed && !err)
		*changed = r->changed;
	if (diag && err)
		*diag = r->diag;
	free(r->taken);
	free(r);
	return err;
}
