/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memory_sharing.h: processes that have one memory, as a child of vfork() and its parent have until
 * it executes. To stop the threads of one of them does not stop those of the other. */
#ifndef USER_MEMORY_SHARING_H
#define USER_MEMORY_SHARING_H

#include <sys/types.h>

/* Whether another process has the memory of the process of thread @tid. Returns 1 or 0, or -errno:
 * -ENOSYS where the kernel does not tell (it has no kcmp()), -ESRCH where the thread has ended. One
 * that may not be looked at is taken to have a memory of its own, as its rights are others. */
int memory_sharing(pid_t tid);

#endif
