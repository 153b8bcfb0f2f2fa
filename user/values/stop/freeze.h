/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* freeze.h: stops all threads of a running process for a moment, by ptrace. */
#ifndef USER_FREEZE_H
#define USER_FREEZE_H

#include <pugmark/diag.h>

#include <stdint.h>
#include <sys/types.h>

struct frozen {
	pid_t *tids; /* of the threads, which are stopped; not of one that has ended */
	uint32_t n, cap;
};

/* Is called in the thread that may use ptrace on them. 0 or -errno. */
typedef int frozen_fn(void *ctx, const struct frozen *frozen);

/* Calls @fn while all threads of @pid stand. Returns what @fn returns, which fills @diag itself; or
 * -errno with @diag filled and @fn not called: -EPERM (another tracer has the process), -EBUSY (a
 * second after all others that were asked before it stood a thread is still in a call that nothing
 * interrupts, as a parent in vfork() is). Then all go on, also a thread in such a call. */
int freeze(pid_t pid, frozen_fn *fn, void *ctx, struct pugmark_diag *diag);
/* The same where the first thread of @pid stands already, by the ptrace of another thread of this
 * process: it is not in what @fn is told, of which there may be none. */
int freeze_others(pid_t pid, frozen_fn *fn, void *ctx, struct pugmark_diag *diag);

#endif
