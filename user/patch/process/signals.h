/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* signals.h: sets of signals that the kernel tells of a thread. */
#ifndef USER_PATCH_PROCESS_SIGNALS_H
#define USER_PATCH_PROCESS_SIGNALS_H

#include <stdint.h>
#include <sys/types.h>

/* The set behind "@which:" in /proc/TID/status, bit number less 1, as *@set. 0 or -errno: it cannot
 * be read, as without descriptors. */
int signals_of(pid_t tid, const char *which, uint64_t *set);
/* What waits for the thread, or for its process. */
int signals_waiting(pid_t tid, uint64_t *set);

#endif
