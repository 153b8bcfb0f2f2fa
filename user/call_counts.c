// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_counts.c: see call_counts.h. */
#include "user/call_counts.h"

#include <pugmark/trace.h>

#include <errno.h>
#include <stdio.h>
#include <limits.h>
#include <sys/stat.h>

#define BYTES_MAX (8 << 20)

struct counter {
	const struct recorder_options *now;
	const uint32_t *first;
	uint64_t *counts;
	uint32_t n_before; /* modules of the recording that were probed before */
};

static void count(struct counter *c, uint32_t module, uint32_t func)
{
	uint32_t m = module - c->n_before;
	if (m < c->now->n_modules && func < c->now->modules[m].plan->n_funcs)
		c->counts[c->first[m] + func]++;
}

static int count_task(struct counter *c, const struct pugmark_trace *trace, uint32_t task)
{
	struct pugmark_trace_iter *it;
	const struct trace_event *e;
	int got = pugmark_trace_iter_new(trace, task, &it);
	if (got)
		return got;
	while ((got = pugmark_trace_next(it, &e)) == 1) {
		if ((e->kind == TRACE_CALL || e->kind == TRACE_TAIL) && e->target)
			count(c, e->target_module, e->func);
		else if (e->kind == TRACE_ENTER)
			count(c, e->module, e->func);
	}
	pugmark_trace_iter_free(it);
	return got;
}

int call_counts_read(const struct recorder_options *now, const uint32_t *first, uint64_t *counts)
{
	struct counter c = {.now = now, .first = first, .counts = counts};
	struct pugmark_trace *trace;
	char path[PATH_MAX];
	struct stat st;
	uint32_t n;
	snprintf(path, sizeof(path), "%s/events", now->output);
	if (stat(path, &st))
		return -errno;
	if (st.st_size > BYTES_MAX)
		return -EFBIG;
	int err = pugmark_trace_open(now->output, &trace, NULL);
	if (err)
		return err;
	recording_modules(pugmark_trace_recording(trace), &n);
	c.n_before = n - now->n_modules;
	recording_tasks(pugmark_trace_recording(trace), &n);
	for (uint32_t i = 0; !err && i < n; i++)
		err = count_task(&c, trace, i);
	pugmark_trace_free(trace);
	return err;
}
