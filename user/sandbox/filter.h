/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter.h: which system calls the child of a sandbox may make. */
#ifndef USER_SANDBOX_FILTER_H
#define USER_SANDBOX_FILTER_H

/* Allows this thread, for good, what needs no permission: memory, threads, time, and files that are
 * open. What names a file goes to the descriptor that is returned (seccomp_unotify(2)). All else
 * fails with EPERM. Returns a descriptor or -errno. */
int filter_enter(void);

#endif
