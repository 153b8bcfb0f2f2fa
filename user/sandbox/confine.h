/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* confine.h: gives up what this process can do, for good, before it reads what others made: its
 * user, its privileges, calls of the kernel, memory and time. For a process that has nothing else
 * to do; what is to live on after it has a child do the reading (sandbox.h). */
#ifndef USER_SANDBOX_CONFINE_H
#define USER_SANDBOX_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/* Becomes that user, with his groups alone (@gid where the system does not know him), and without a
 * way back; nobody may look into the process. False: it has not. */
bool confine_become(uid_t uid, gid_t gid);
/* Gives up all capabilities and gets none back. */
bool confine_drop(void);

/* What it may still do; else EPERM. */
enum confine_may {
	CONFINE_READ = 0,
	CONFINE_NETWORK = 1,  /* make sockets */
	CONFINE_PROGRAMS = 2, /* start programs, and signal them */
};
/* Refuses what no reader has a use for and whoever takes one over might: sockets, programs, other
 * processes, namespaces, input into the terminal that this process was started from. */
bool confine_refuse(unsigned may);
/* Bounds of memory (three quarters of what this machine has), of time of a processor (four hours)
 * and of open files, where the user has set none that are lower; no core dump. A process that the
 * time ends says that it was @subject, a path, which took it; and so does one that dies of a fault.
 */
void confine_bound(const char *subject);
/* So many seconds of a processor from now on, for a process that lives on after it has read; where
 * the user has set a lower limit, that one stays. After confine_bound(). */
void confine_time_anew(unsigned seconds);

#endif
