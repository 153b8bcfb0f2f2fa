/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* living_thread.h: a process whose first thread has called pthread_exit() goes on in others. Then
 * /proc/PID has no memory and no mappings, and those of a thread that lives say what there is. */
#ifndef USER_LIVING_THREAD_H
#define USER_LIVING_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether thread @tid of @pid has ended, though its number may still be there. False where that
 * cannot be seen, as without descriptors. */
bool thread_has_ended(pid_t pid, pid_t tid);
/* @pid, or where that thread has ended another one of the process; @pid where all have. */
pid_t living_thread(pid_t pid);

#endif
