/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* detach.h: taking patches out of a running process. All that is needed for it is in the memory
 * that the process was given (struct patch_record), so that another recorder can do it as well. */
#ifndef USER_PATCH_DETACH_H
#define USER_PATCH_DETACH_H

#include "user/patch/area.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the lane of a thread ends. */
struct lane_end {
	pid_t tid;
	uint32_t lane;
	uint64_t pos, lost;
};

struct detached {
	pid_t pid;
	uint32_t area;
	struct patch_record *record; /* borrowed */
	uint64_t dev, ino;	     /* of the memfd that it was given */
	int err;		 /* -ESRCH: it has ended; -ETIMEDOUT: a thread does not stop, and
				    all is left as it is; -EINTR: who was to restore it was killed,
				    and nothing is known of it */
	bool done;		 /* its text is restored, but for what is left */
	uint32_t restored, left; /* instructions; those that somebody else has changed, or that a
				    signal's frame leads back to */
	bool kept;		 /* the code stays mapped: a signal's frame leads back there, or
				    a patch to it is left */
	uint64_t stopped_ns;	 /* how long the threads were */
	uint32_t n_ends;
	struct lane_end ends[PATCH_RINGS];
};

enum { DETACHED_MAX = 1024 };
struct detached_all {
	uint32_t n, n_over; /* processes; how many more there were, which stay as they are */
	struct detached each[DETACHED_MAX];
};

/* A child of this process stops all processes that have one of @areas, and restores them. It calls
 * @stopped when all are stopped. @noted is called in this process, before any thread goes on: it
 * takes in where their lanes end. In *@out, freed with detached_all_free(), what became of each. 0
 * or -errno. */
int detach_all(struct area *const *areas, uint32_t n, void (*stopped)(void *ctx),
	       void (*noted)(void *ctx, const struct detached *each, uint32_t n), void *ctx,
	       struct detached_all **out);
void detached_all_free(struct detached_all *all);
/* One process, which was patched by @record and given @memory_fd. In *@out, freed with
 * detached_free(), what became of it. 0 or -errno, as in `err`. */
int detach_process(struct patch_record *record, int memory_fd, pid_t pid, struct detached **out);
void detached_free(struct detached *detached);

#endif
