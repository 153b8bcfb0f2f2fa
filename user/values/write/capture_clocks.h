/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_clocks.h: what clocks have told a task becomes records of it: entries that the kernel's
 * programs have sent, and those that are read from the process where it notes its system calls
 * itself. */
#ifndef USER_CAPTURE_CLOCKS_H
#define USER_CAPTURE_CLOCKS_H

#include "offline/capture/capture_ring.h"
#include "user/values/clock/clock_calls.h"
#include "user/values/write/capture_tasks.h"

#include <stddef.h>
#include <sys/types.h>

/* The entries in @clocks, of @len bytes, which holds its fixed part whole. */
void capture_clocks_take(struct capture_tasks *all, const struct clock_calls *calls,
			 struct capture_task *t, const struct capture_clocks *clocks, size_t len);

/* Entries in the memory of process @pid. */
struct clocks_noted {
	pid_t pid;
	uint64_t owner; /* the thread pointer of the task */
	uint64_t until; /* the number of the first entry that comes later */
	uint64_t order; /* of the first record, and its time */
	uint64_t time_ns;
};

void capture_clocks_take_noted(struct capture_tasks *all, const struct clock_calls *calls,
			       struct capture_task *t, const struct clocks_noted *noted);

#endif
