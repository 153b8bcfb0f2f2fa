/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* freeze.h: stops all threads of a running process for a moment, by ptrace: all calls are of one
 * thread. */
#ifndef USER_FREEZE_H
#define USER_FREEZE_H

#include <pugmark/diag.h>

#include <stdint.h>
#include <sys/types.h>

struct frozen {
	pid_t *tids; /* of the threads, which are stopped; not of one that has ended */
	uint32_t n, cap;
};

/* Returns 0, or -errno with @diag filled and nothing stopped: -EPERM (another tracer has it),
 * -EBUSY (a second after all others that were asked before it stood a thread is still in a call
 * that nothing interrupts, as a parent in vfork() is; such threads alone may then stand until the
 * next call, or until this process ends, once their calls are over). */
int freeze(pid_t pid, struct frozen *out, struct pugmark_diag *diag);
/* Lets them go on, and frees the list. */
void thaw(struct frozen *frozen);

#endif
