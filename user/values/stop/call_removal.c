// SPDX-License-Identifier: LGPL-2.1-or-later
/* call_removal.c: see call_removal.h. */
#include "user/values/stop/call_removal.h"

#include "user/values/calls/call_threads.h"
#include "user/values/stop/removal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>

struct taking {
	const struct call_patches *patches;
	pid_t pid; /* whose threads may wait, */
	bool asked;
	struct call_waiting *waiting; /* which are those */
	uint32_t n;
};

static void note_waiting(struct taking *t, const struct frozen *frozen)
{
	t->waiting = calloc(frozen->n, sizeof(*t->waiting));
	for (uint32_t i = 0; t->waiting && i < frozen->n; i++) {
		struct call_waiting *w = &t->waiting[t->n];

		w->tid = frozen->tids[i];
		if (!ptrace(PTRACE_GETREGS, w->tid, NULL, &w->regs) &&
		    call_threads_waits(t->patches, &w->regs))
			t->n++;
	}
}

static int has(void *ctx, pid_t pid)
{
	const struct taking *t = ctx;

	return call_patches_has(t->patches, pid);
}

/* A thread that stands in it leaves it as soon as it runs. */
static int take_out(void *ctx, pid_t pid, const struct frozen *frozen)
{
	struct taking *t = ctx;

	if (pid == t->pid && !t->asked) /* when it stands the first time */
		note_waiting(t, frozen);
	t->asked |= pid == t->pid;
	int err = call_patches_remove(t->patches, frozen->tids[0], frozen->tids, frozen->n);
	return err == -EAGAIN ? -EBUSY : err;
}

unsigned call_removal(const struct call_patches *patches, pid_t pid, struct call_waiting **waiting,
		      uint32_t *n)
{
	struct taking t = {.patches = patches, .pid = pid};
	unsigned left = patches->code ? removal_run(&(struct removal){has, take_out, &t}) : 0;

	*waiting = t.waiting;
	*n = t.n;
	return left;
}
