/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tracee_call.h: system calls made in the name of a process that is stopped. */
#ifndef USER_PATCH_PROCESS_TRACEE_CALL_H
#define USER_PATCH_PROCESS_TRACEE_CALL_H

#include "user/patch/process/tracee.h"

/* Has the stopped thread @t->pid make a system call that waits for nothing, and leaves it as it
 * was. Returns 0 and in *@result what the call did (or -errno of its own), or -errno; -EPERM: a
 * filter traps the call; -ENOSYS: it has no room. If this process is killed meanwhile the thread
 * comes back by itself (way_back.h), with what the call has done. */
int tracee_syscall(const struct tracee *t, long number, const uint64_t args[6], int64_t *result);

#endif
