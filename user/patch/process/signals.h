/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* signals.h: sets of signals that the kernel tells of a thread. */
#ifndef USER_PATCH_PROCESS_SIGNALS_H
#define USER_PATCH_PROCESS_SIGNALS_H

#include <stdint.h>
#include <sys/types.h>

/* The set behind "@which:" in /proc/TID/status, bit number less 1; 0: it cannot be read. */
uint64_t signals_of(pid_t tid, const char *which);

#endif
