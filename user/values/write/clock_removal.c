// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_removal.c: see clock_removal.h. */
#include "user/values/write/clock_removal.h"

#include "user/values/write/freeze.h"
#include "user/proc/living_thread.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { TRIES = 50, PAUSE_NS = 2000000 };

/* A thread that stands in it leaves it as soon as it runs. */
static bool remove_from(const struct clock_calls *calls, pid_t pid)
{
	int err = -EBUSY;

	for (int i = 0; err == -EBUSY && i < TRIES; i++) {
		struct pugmark_diag diag;
		struct frozen frozen;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		err = freeze(pid, &frozen, &diag);
		if (err)
			break;
		err = clock_calls_remove(calls, frozen.tids[0], frozen.tids, frozen.n);
		thaw(&frozen);
	}
	return !err || err == -ESRCH;
}

unsigned clock_removal(const struct clock_calls *calls)
{
	unsigned left = 0;
	struct dirent *e;
	DIR *dir = calls->area ? opendir("/proc") : NULL;

	while (dir && (e = readdir(dir))) {
		pid_t pid = atoi(e->d_name);

		if (pid > 0 && clock_calls_has(calls, living_thread(pid)))
			left += !remove_from(calls, pid);
	}
	if (dir)
		closedir(dir);
	return left;
}
