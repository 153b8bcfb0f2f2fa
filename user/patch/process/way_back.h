/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* way_back.h: code by which a thread makes one system call and comes back to where it was: behind
 * the call it has its nice value and blocks the signals that it did, has its registers as they were
 * and goes on there. So a thread whose tracer is killed amid that call goes on as it would have.
 * Where it stood as the call began or ended the kernel sends it a SIGTRAP then, as if that tracer
 * had let it go so (ptrace_report_syscall() in include/linux/ptrace.h): that is taken away on the
 * way. The code lies where a process executes nothing (the room of tracee.h), and uses no stack. */
#ifndef USER_PATCH_PROCESS_WAY_BACK_H
#define USER_PATCH_PROCESS_WAY_BACK_H

#include "user/patch/process/tracee.h"

#include <sys/user.h>

/* What the room has first: the instruction that makes the call. */
enum { WAY_BACK_CALL_BYTES = 2 };

/* Lays it for a thread that has these registers and blocks the signals @mask. If a system call of
 * the thread's own was interrupted it leads to where that is made again. @trap_waits: there is a
 * SIGTRAP of its own, which stays. 0 or -errno. */
int way_back_lay(const struct tracee *t, const struct user_regs_struct *regs, uint64_t mask,
		 bool trap_waits, int nice);
/* The room is empty again. 0 or -errno. */
int way_back_clear(const struct tracee *t);

#endif
