/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* signals.h: sets of signals that the kernel tells of a thread. */
#ifndef USER_PATCH_PROCESS_SIGNALS_H
#define USER_PATCH_PROCESS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The set behind "@which:" in /proc/TID/status, bit number less 1, as *@set. 0 or -errno: it cannot
 * be read, as without descriptors. */
int signals_of(pid_t tid, const char *which, uint64_t *set);
/* What waits for the thread, or for its process. */
int signals_waiting(pid_t tid, uint64_t *set);
/* Whether @signal is one of those that stop a process. */
bool signals_stops(int signal);
/* Whether SIGCONT waits for the thread, or for its process: it came behind all signals that stop
 * the process, as each of these takes it from where it waits; and as it takes those from where they
 * wait (prepare_signal() in kernel/signal.c), none that a tracer holds is to be taken any more. One
 * that nobody catches waits only where the process's first thread is traced, or blocks it. */
bool signals_continued(pid_t tid);

#endif
