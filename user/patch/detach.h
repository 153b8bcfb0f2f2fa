/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* detach.h: taking patches out of a running process. */
#ifndef USER_PATCH_DETACH_H
#define USER_PATCH_DETACH_H

#include "user/patch/area.h"

/* Where the lane of a thread ends. */
struct lane_end {
	pid_t tid;
	uint32_t lane;
	uint64_t pos, lost;
};

struct detached {
	struct lane_end *ends; /* heap */
	uint32_t n_ends;
	uint32_t restored, left; /* instructions; those that somebody else has changed */
	bool kept;		 /* the code stays mapped: a signal's frame leads back there */
	uint64_t stopped_ns;	 /* how long the threads were */
};

/* Stops all threads of @pid, which has @area, has each leave the trampolines, calls @stopped, and
 * restores the process as it was. Returns 0 or -errno (-ESRCH: it has ended; -ETIMEDOUT: a thread
 * does not come out, and all is left as it is). */
int detach_process(struct area *area, pid_t pid, const struct patch_module *modules,
		   void (*stopped)(void *ctx), void *ctx, struct detached *out);

#endif
