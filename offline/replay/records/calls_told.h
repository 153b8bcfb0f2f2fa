/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* calls_told.h: what the record of a system call tells of the call itself. */
#ifndef OFFLINE_REPLAY_RECORDS_CALLS_TOLD_H
#define OFFLINE_REPLAY_RECORDS_CALLS_TOLD_H

#include "offline/capture/captures.h"

/* Whether the system call makes a task. @c may be NULL. */
bool call_told_forks(const struct capture *c);
/* The kernel's own results for a call that it makes again (linux/errno.h). */
bool call_told_restarts(int64_t result);

#endif
