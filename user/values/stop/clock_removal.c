// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_removal.c: see clock_removal.h. */
#include "user/values/stop/clock_removal.h"

#include "user/proc/living_thread.h"
#include "user/proc/memory_sharing.h"
#include "user/values/stop/freeze.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { TRIES = 50, PAUSE_NS = 2000000 };

struct removal {
	const struct clock_calls *calls;
	bool busy; /* a thread stood in it, or one that is not stopped may */
};

static int remove_frozen(void *ctx, const struct frozen *frozen)
{
	struct removal *r = ctx;
	int err = memory_sharing(frozen->tids[0]);

	if (err > 0) /* threads of the other process run */
		err = -EBUSY;
	if (!err)
		err = clock_calls_remove(r->calls, frozen->tids[0], frozen->tids, frozen->n);
	r->busy = err == -EBUSY;
	return err;
}

/* A thread that stands in it leaves it as soon as it runs. */
static bool remove_from(const struct clock_calls *calls, pid_t pid)
{
	struct removal r = {calls, true};
	int err = -EBUSY;

	for (int i = 0; r.busy && i < TRIES; i++) {
		struct pugmark_diag diag;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		r.busy = false;
		err = freeze(pid, remove_frozen, &r, &diag);
	}
	return !err || err == -ESRCH;
}

/* Whether one that could not be looked at, because of @err, may have it: not if it has ended, nor
 * if it may not be looked at, as then nothing was placed in it either. */
static bool may_have(int err)
{
	return err != -ENOENT && err != -ESRCH && err != -EACCES && err != -EPERM && err != -EIO;
}

unsigned clock_removal(const struct clock_calls *calls)
{
	unsigned left = 0;
	struct dirent *e;

	if (!calls->area)
		return 0;
	DIR *dir = opendir("/proc");
	if (!dir)
		return 1; /* the process itself, at least */
	while ((e = readdir(dir))) {
		pid_t pid = atoi(e->d_name);
		int has = pid > 0 ? clock_calls_has(calls, living_thread(pid)) : 0;

		left += has < 0 ? may_have(has) : has && !remove_from(calls, pid);
	}
	closedir(dir);
	return left;
}
