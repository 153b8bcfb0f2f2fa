// SPDX-License-Identifier: LGPL-2.1-or-later
/* parallel.c: see parallel.h. If a thread cannot be made, the others do its work. */
#include "user/cli/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WORKERS_MAX = 64 };

struct work {
	parallel_job *job;
	void *ctx;
	uint32_t n;
	_Atomic uint32_t next, workers;
	_Atomic int err;
};

uint32_t parallel_workers(uint32_t n)
{
	cpu_set_t set;
	uint32_t cpus = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	if (cpus > WORKERS_MAX)
		cpus = WORKERS_MAX;
	return n < cpus ? (n ? n : 1) : cpus;
}

static void *worker(void *arg)
{
	struct work *w = arg;
	uint32_t number = w->workers++, index;
	while (!w->err && (index = w->next++) < w->n) {
		int err = w->job(w->ctx, number, index), none = 0;
		if (err)
			atomic_compare_exchange_strong(&w->err, &none, err);
	}
	return NULL;
}

int parallel_do(uint32_t n, parallel_job *job, void *ctx)
{
	struct work w = {.job = job, .ctx = ctx, .n = n};
	pthread_t threads[WORKERS_MAX];
	uint32_t extra = 0, want = parallel_workers(n) - 1;
	while (extra < want && !pthread_create(&threads[extra], NULL, worker, &w))
		extra++;
	worker(&w);
	while (extra)
		pthread_join(threads[--extra], NULL);
	return w.err;
}
