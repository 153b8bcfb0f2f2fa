/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* replanner.h: plans anew in a thread of its own, while the recording goes on. */
#ifndef USER_REPLANNER_H
#define USER_REPLANNER_H

#include "user/record/cost/overhead.h"
#include "user/kernel/record_options.h"

#include <pugmark/diag.h>

struct replanner;

/* Begins to plan as @request says, which is copied. With @overhead, that first chooses what is to
 * go; nothing else may use it until the end. @now: what is probed so far; borrowed, with @options,
 * until the end. Returns 0 or -errno. */
int replanner_start(const struct recorder_options *options, const struct recorder_options *now,
		    const struct replan_request *request, struct overhead *overhead,
		    struct replanner **out);
/* How long it took, and how much of a processor's time. After replanner_done(). */
void replanner_took(const struct replanner *r, double *seconds, double *cpu_seconds);
bool replanner_done(const struct replanner *r);
/* Nobody wants what comes of it: replanner_finish() does not wait for long then. */
void replanner_cancel(struct replanner *r);
/* Waits until it is done, and frees it. Returns what recorder_options.replan returned; with 0,
 * @changed is what is to be probed and *@news what is to be noted (the caller frees; NULL:
 * nothing). Both pointers may be NULL. */
int replanner_finish(struct replanner *r, struct recorder_options *changed, char **news,
		     struct pugmark_diag *diag);

#endif
