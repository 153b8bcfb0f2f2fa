// SPDX-License-Identifier: LGPL-2.1-or-later
/* thinning.c: see thinning.h. */
#include "user/values/record/thinning.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

struct thinning {
	struct capture_programs *programs;
	const atomic_bool *has_no_vdso;
	pthread_t thread;
	sem_t ends;
	bool thinned; /* read once the thread has ended */
};

/* Returns whether the end has come meanwhile. */
static bool wait_for_end(struct thinning *t)
{
	enum { LOOK_NS = 200000000, SECOND_NS = 1000000000 };
	struct timespec until;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (until.tv_nsec + LOOK_NS) / SECOND_NS;
	until.tv_nsec = (until.tv_nsec + LOOK_NS) % SECOND_NS;
	do
		err = sem_clockwait(&t->ends, CLOCK_MONOTONIC, &until) ? errno : 0;
	while (err == EINTR);
	return !err;
}

static void *thin_main(void *context)
{
	struct thinning *t = context;

	while (!wait_for_end(t))
		t->thinned |= capture_programs_thin(t->programs, *t->has_no_vdso);
	return NULL;
}

struct thinning *thinning_begin(struct capture_programs *programs, const atomic_bool *has_no_vdso)
{
	struct thinning *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->programs = programs;
	t->has_no_vdso = has_no_vdso;
	sem_init(&t->ends, 0, 0);
	if (!pthread_create(&t->thread, NULL, thin_main, t))
		return t;
	free(t);
	return NULL;
}

bool thinning_end(struct thinning *thinning)
{
	if (!thinning)
		return false;
	sem_post(&thinning->ends);
	pthread_join(thinning->thread, NULL);
	bool thinned = thinning->thinned;
	sem_destroy(&thinning->ends);
	free(thinning);
	return thinned;
}
