/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* late_modules.h: which processes have loaded what is asked for since the recording began. */
#ifndef USER_LATE_MODULES_H
#define USER_LATE_MODULES_H

#include "user/kernel/probes.h"
#include "user/record/write/collector.h"

struct late_modules;

/* Begins to listen; processes that run already are checked once more. Borrows all three. */
int late_modules_new(const struct recorder_options *options, struct probes *probes,
		     struct collector *collector, struct late_modules **out);
void late_modules_free(struct late_modules *l);
/* Becomes readable when there may be something; -1: nothing tells. */
int late_modules_fd(const struct late_modules *l);
/* The processes that have mapped a file that is asked for, since they were last told; borrowed
 * until the next call. Returns how many. */
uint32_t late_modules_processes(struct late_modules *l, uint64_t time_ns, const pid_t **pids);
/* What was told is looked at: it is not told again. */
void late_modules_done(struct late_modules *l);

#endif
