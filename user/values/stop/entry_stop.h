/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* entry_stop.h: stops a program at its entry point, before it has executed any instruction of its
 * own: the dynamic linker has been. By ptrace: all calls are of one thread. */
#ifndef USER_ENTRY_STOP_H
#define USER_ENTRY_STOP_H

#include <pugmark/diag.h>

#include <sys/types.h>

/* Before the child @pid of launch_prepare() is let go. */
int entry_stop_begin(pid_t pid, struct pugmark_diag *diag);
/* After that: waits until it is there. It is then stopped, until entry_stop_end(). -ESRCH: it ended
 * before. */
int entry_stop_wait(pid_t pid, struct pugmark_diag *diag);
void entry_stop_end(pid_t pid);

#endif
