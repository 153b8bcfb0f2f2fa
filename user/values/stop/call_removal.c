// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_removal.c: see call_removal.h. */
#include "user/values/stop/call_removal.h"

#include "user/proc/living_thread.h"
#include "user/values/calls/call_threads.h"
#include "user/values/stop/freeze.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <time.h>

enum { TRIES = 50, PAUSE_NS = 2000000 };

struct removal {
	const struct call_patches *patches;
	struct call_waiting **waiting; /* NULL: nobody asks */
	uint32_t *n;
	bool busy; /* a thread stood in it, or one that is not stopped may */
};

static void note_waiting(struct removal *r, const struct frozen *frozen)
{
	if (!r->waiting)
		return;
	*r->waiting = calloc(frozen->n, sizeof(**r->waiting));
	for (uint32_t i = 0; *r->waiting && i < frozen->n; i++) {
		struct call_waiting *w = *r->waiting + *r->n;

		w->tid = frozen->tids[i];
		if (!ptrace(PTRACE_GETREGS, w->tid, NULL, &w->regs) &&
		    call_threads_waits(r->patches, &w->regs))
			++*r->n;
	}
	r->waiting = NULL; /* when it stood the first time */
}

static int remove_frozen(void *ctx, const struct frozen *frozen)
{
	struct removal *r = ctx;

	note_waiting(r, frozen);
	int err = call_patches_remove(r->patches, frozen->tids[0], frozen->tids, frozen->n);
	r->busy = err == -EBUSY || err == -EAGAIN;
	return err;
}

/* A thread that stands in it leaves it as soon as it runs. */
static bool remove_from(struct removal *r, pid_t pid)
{
	int err = -EBUSY;

	r->busy = true;
	for (int i = 0; r->busy && i < TRIES; i++) {
		struct pugmark_diag diag;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		r->busy = false;
		err = freeze(pid, remove_frozen, r, &diag);
	}
	return !err || err == -ESRCH;
}

unsigned call_removal(const struct call_patches *patches, pid_t pid, struct call_waiting **waiting,
		      uint32_t *n)
{
	struct removal r = {.patches = patches};
	unsigned left = 0;
	struct dirent *e;
	DIR *dir = opendir("/proc");

	*waiting = NULL;
	*n = 0;
	while (dir && (e = readdir(dir))) {
		pid_t at = atoi(e->d_name);

		if (at <= 0 || !call_patches_has(patches, living_thread(at)))
			continue;
		r.waiting = at == pid ? waiting : NULL;
		r.n = n;
		left += !remove_from(&r, at);
	}
	if (dir)
		closedir(dir);
	return left;
}
