/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shared.h: which bytes of a process' memory more than one of its threads has ever written, or one
 * that another one reads: all others are a thread's own, however many were awake. All threads are
 * executed for it once, to their ends. */
#ifndef USER_WHY_SHARED_H
#define USER_WHY_SHARED_H

#include "offline/capture/families.h"
#include "offline/dep/dep.h"

struct why_shared;

/* The threads of the process of @task, in order, and it; the caller frees. NULL: out of memory. */
uint32_t *why_threads_of(const struct captures *captures, const struct families *families,
			 uint32_t task, uint32_t *n);

/* Of the @n threads @tasks, all of one process. 0 or -ENOMEM. */
int why_shared_new(struct value_replay *replay, const uint32_t *tasks, uint32_t n,
		   struct why_shared **out);
void why_shared_free(struct why_shared *shared);
/* From here on @build, of @task of that process, takes what no other one has written for its own.
 * Borrowed until the build is freed. */
void why_shared_tell(struct why_shared *shared, uint32_t task, struct dep_build *build);

#endif
