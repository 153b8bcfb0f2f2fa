/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_removal.h: takes call_patches.h out again, of the process and of what it has forked. */
#ifndef USER_CALL_REMOVAL_H
#define USER_CALL_REMOVAL_H

#include "user/values/calls/call_patches.h"

#include <sys/user.h>

/* A thread that waits in a call which began before its recording ended. */
struct call_waiting {
	pid_t tid;
	struct user_regs_struct regs; /* as the process would have them without stubs */
};

/* Returns in how many processes its memory stays: a thread stands in it for long, another program
 * traces it, two have it in common, or it could not be looked at for want of memory or descriptors.
 * Their code is as it was, but in the first case only. *@waiting (caller frees): those threads of
 * process @pid. */
unsigned call_removal(const struct call_patches *patches, pid_t pid, struct call_waiting **waiting,
		      uint32_t *n);

#endif
