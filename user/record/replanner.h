/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* replanner.h: plans anew in a thread of its own, while the recording goes on. */
#ifndef USER_REPLANNER_H
#define USER_REPLANNER_H

#include "user/record/overhead.h"
#include "user/record/recorder.h"

#include <pugmark/diag.h>

struct replanner;

/* Begins to plan as @request says, of which it makes a copy; with @overhead, after it has chosen
 * what is to go: nothing else is asked of that until the end. @now: what is probed so far;
 * borrowed, with @options, until the end. Returns 0 or -errno. */
int replanner_start(const struct recorder_options *options, const struct recorder_options *now,
		    const struct replan_request *request, struct overhead *overhead,
		    struct replanner **out);
/* How long it took, and how much of a processor's time. After replanner_done(). */
void replanner_took(const struct replanner *r, double *seconds, double *cpu_seconds);
bool replanner_done(const struct replanner *r);
/* Waits until it is done, and frees it. Returns what recorder_options.replan has returned; with 0
 * what is to be probed in @changed, and in *@news what is to be noted (the caller frees; NULL:
 * nothing). All of them may be NULL: nobody wants to know. */
int replanner_finish(struct replanner *r, struct recorder_options *changed, char **news,
		     struct pugmark_diag *diag);

#endif
