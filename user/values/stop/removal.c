// SPDX-License-Identifier: LGPL-2.1-or-later
/* removal.c: see removal.h. */
#include "user/values/stop/removal.h"

#include "user/proc/living_thread.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { LOOKS = 16, TRIES = 50, PAUSE_NS = 2000000 };

struct trial {
	const struct removal *removal;
	pid_t pid;
	bool busy;
};

static int try_frozen(void *ctx, const struct frozen *frozen)
{
	struct trial *t = ctx;
	int err = t->removal->take_out(t->removal->ctx, t->pid, frozen);

	t->busy = err == -EBUSY;
	return err;
}

/* Returns whether it is gone, perhaps with the process. */
static bool remove_from(const struct removal *removal, pid_t pid)
{
	struct trial t = {removal, pid, true};
	int err = -EBUSY;

	for (int i = 0; t.busy && i < TRIES; i++) {
		struct pugmark_diag diag;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		t.busy = false;
		err = freeze(pid, try_frozen, &t, &diag);
	}
	return !err || err == -ESRCH;
}

static bool may_have(int err)
{
	return err != -ENOENT && err != -ESRCH && err != -EACCES && err != -EPERM && err != -EIO;
}

/* Looks at all processes once: in how many it stays, and in *@taken of how many it was taken. */
static unsigned look(const struct removal *removal, unsigned *taken)
{
	unsigned left = 0;
	struct dirent *e;
	DIR *dir = opendir("/proc");

	*taken = 0;
	if (!dir)
		return 1; /* the process itself, at least */
	while ((e = readdir(dir))) {
		pid_t pid = atoi(e->d_name);
		int has = pid > 0 ? removal->has(removal->ctx, living_thread(pid)) : 0;
		bool gone = has > 0 && remove_from(removal, pid);

		*taken += gone;
		left += has < 0 ? may_have(has) : has && !gone;
	}
	closedir(dir);
	return left;
}

/* Processes are looked at by number. What one forks before it is looked at may have a smaller one,
 * where numbers begin again: so until a look finds none that has it any more. */
unsigned removal_run(const struct removal *removal)
{
	unsigned left = 0, taken = 1;

	for (int i = 0; taken && i < LOOKS; i++)
		left = look(removal, &taken);
	return left;
}
