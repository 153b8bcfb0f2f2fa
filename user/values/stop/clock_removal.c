// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_removal.c: see clock_removal.h. */
#include "user/values/stop/clock_removal.h"

#include "user/proc/memory_sharing.h"
#include "user/values/stop/removal.h"

#include <errno.h>

static int has(void *ctx, pid_t pid)
{
	return clock_calls_has(ctx, pid);
}

/* A thread that stands in it leaves it as soon as it runs. */
static int take_out(void *ctx, pid_t pid, const struct frozen *frozen)
{
	int err = memory_sharing(frozen->tids[0]);

	(void)pid;
	if (err > 0) /* threads of the other process run */
		err = -EBUSY;
	return err ? err : clock_calls_remove(ctx, frozen->tids[0], frozen->tids, frozen->n);
}

unsigned clock_removal(const struct clock_calls *calls)
{
	struct clock_calls placed = *calls;

	return placed.area ? removal_run(&(struct removal){has, take_out, &placed}) : 0;
}
