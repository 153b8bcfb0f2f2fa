/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* entry_stop.h: stops a program at its entry point, before it has executed any instruction of its
 * own: the dynamic linker has been. By ptrace: all calls are of one thread. */
#ifndef USER_ENTRY_STOP_H
#define USER_ENTRY_STOP_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <sys/types.h>

/* Before the child @pid of launch_prepare() is let go. */
int entry_stop_begin(pid_t pid, struct pugmark_diag *diag);
/* How long is waited for it: until @ends says so, which is asked whenever @fd is readable (SIGCHLD,
 * which tells of a stop, makes it so), and often besides. */
struct entry_patience {
	int fd;
	bool (*ends)(void *ctx);
	void *ctx;
};

/* After that: waits until it is there, be it after several execs. Its first thread is then stopped,
 * until entry_stop_end(); others that constructors of libraries have begun go on. -ESRCH: it ended
 * before. -EINTR:
 * @ends has said so. */
int entry_stop_wait(pid_t pid, const struct entry_patience *patience, struct pugmark_diag *diag);
void entry_stop_end(pid_t pid);

#endif
