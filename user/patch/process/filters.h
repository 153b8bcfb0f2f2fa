/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filters.h: filters of system calls (seccomp). Each thread has its own: where that does not know a
 * call that is made in the thread's name, it may end the process for it. */
#ifndef USER_PATCH_PROCESS_FILTERS_H
#define USER_PATCH_PROCESS_FILTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether thread @tid has a filter, or that cannot be read. */
bool filters_has(pid_t tid);
/* The first of the @n threads that has none; 0: each has one. */
pid_t filters_without(const pid_t *tids, uint32_t n);
/* Whether a filter may forbid thread @tid what is done here: one that this process has not as well.
 * What it has inherited from here forbids nothing. */
bool filters_forbid(pid_t tid);
/* The same of any thread of process @pid. */
bool filters_forbid_any(pid_t pid);

#endif
