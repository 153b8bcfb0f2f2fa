/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* later.h: which processes have loaded what is asked for since the recording began. */
#ifndef USER_LATER_H
#define USER_LATER_H

#include "user/collector.h"
#include "user/probes.h"

struct later;

/* Begins to listen; what runs already is looked at once more. Borrows all three. */
int later_new(const struct recorder_options *options, struct probes *probes,
	      struct collector *collector, struct later **out);
void later_free(struct later *l);
/* Becomes readable when there may be something; -1: nothing tells. */
int later_fd(const struct later *l);
/* The processes that have mapped a file that is asked for, since they were last told; borrowed
 * until the next call. Returns how many. */
uint32_t later_processes(struct later *l, uint64_t time_ns, const pid_t **pids);
/* What was told is looked at: it is not told again. */
void later_done(struct later *l);

#endif
