/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* removal.h: what was placed in a process, and is in what it has forked as well, is taken out of
 * all processes that have it. */
#ifndef USER_REMOVAL_H
#define USER_REMOVAL_H

#include "user/values/stop/freeze.h"

struct removal {
	/* Whether it is in process @pid, which runs: 1, 0 or -errno. */
	int (*has)(void *ctx, pid_t pid);
	/* Takes it out of process @pid, all of whose threads stand. 0 or -errno; -EBUSY: that
	 * cannot be yet, and is tried again a moment later. */
	int (*take_out)(void *ctx, pid_t pid, const struct frozen *frozen);
	void *ctx;
};

/* Returns in how many processes it stays. One that could not be looked at for want of memory or
 * descriptors counts; one that may not be looked at does not, as nothing was placed in it. */
unsigned removal_run(const struct removal *removal);

#endif
