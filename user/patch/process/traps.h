/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* traps.h: keeps what a process does with SIGTRAP, where a step or a breakpoint of ours raises one.
 * The kernel forces that signal: if the thread blocks it or the process ignores it, the kernel
 * unblocks it and sets its action to the default, even though the tracer takes the signal
 * (force_sig_info_to_task() in kernel/signal.c). */
#ifndef USER_PATCH_PROCESS_TRAPS_H
#define USER_PATCH_PROCESS_TRAPS_H

#include "user/patch/process/tracee.h"

struct traps {
	bool blocked, ignored;
};

/* Before such a SIGTRAP of the stopped thread @t->pid: unblocks it, so that the kernel does not,
 * and notes in *@was what is to be restored. 0 or -errno. */
int traps_allow(const struct tracee *t, struct traps *was);
/* Behind it, while all threads of the process are stopped: blocks and ignores it again as *@was
 * says. 0 or -errno. */
int traps_restore(const struct tracee *t, const struct traps *was);
/* Has the stopped thread @t->pid execute one instruction. 0 and how it stopped then in *@status;
 * *@own: for a signal of its own, or it has ended. -errno: it is gone. */
int traps_step(const struct tracee *t, int *status, bool *own);

#endif
