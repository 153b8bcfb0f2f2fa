/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report.h: how often each function was called, by whom, and for how long, added up over the
 * threads of a recording.
 *
 * Times have two bounds. Between two witnesses the trace says in which order things happened, not
 * when. Time that certainly passed inside of a function counts into its lower bound, time that may
 * have passed there into the upper one; each span of time counts at most once for each thread.
 * Recursion counts once. */
#ifndef USER_REPORT_H
#define USER_REPORT_H

#include "user/cli/duration.h"
#include "user/view/report/durations.h"
#include "user/view/trace/func_ids.h"
#include "user/view/trace/trace_view.h"

/* How many calls took from 2^i to 2^(i + 1) ns: by what each certainly took, and by what it may
 * have taken at most. */
struct report_powers {
	uint32_t certain[DURATIONS_POWERS], possible[DURATIONS_POWERS];
};

/* What can be said of the durations of a function's calls (including what they called) from the
 * bounds of each. Calls that were open at the end, or given up in a gap, do not count. */
struct report_spread {
	uint64_t calls;
	struct time_bounds min, median, p99, max;
	/* Calls that certainly took REPORT_OUTLIER times the median or longer, and at least how
	 * long these took together. */
	uint64_t outliers, outliers_ns;
	struct report_powers *powers; /* heap, the report's; NULL where calls is 0 */
};
enum { REPORT_OUTLIER = 10 };

/* One call, of the slowest. */
struct report_slow {
	uint32_t id;		 /* index of report->funcs */
	uint32_t task;		 /* index of the recording's tasks */
	uint64_t from_ns, to_ns; /* it began between these, CLOCK_MONOTONIC */
	struct time_bounds took;
	bool open; /* it had not ended at the end of its thread */
};

struct report_func {
	uint64_t calls;
	/* Of the calls, those that may have begun before or after the time that was asked for. And
	 * at most how many may be missing, because nothing is known of a thread before its first
	 * witness and after its last one: what lay between two witnesses elsewhere in it, at either
	 * end. */
	uint64_t unsure, hidden;
	struct time_bounds total; /* what it called included */
	struct time_bounds self;
	struct report_spread spread;
	struct func_id id;
};

/* Calls of one function by another, or by code that was made at run time and has a name. */
struct report_edge {
	uint32_t caller, callee; /* index of report->funcs */
	uint64_t calls;
	struct time_bounds total; /* of the callee */
};

struct report {
	struct report_func *funcs; /* all that could run; those with no calls did not, or are only
				      known to have called (FUNC_MADE) */
	uint32_t n_funcs;
	struct report_edge *edges; /* in no order */
	uint32_t n_edges;
	struct report_slow *slow; /* the slowest, slowest first: by what they certainly took, then
				     by what they may have */
	uint32_t n_slow;
	uint64_t calls, gaps, witnesses;
	struct time_bounds in_gaps; /* time of which nothing is known, over all threads */
};

/* What is asked for beside the counts. */
struct report_wish {
	uint32_t slowest;   /* report->slow has so many calls at most */
	uint64_t longer_ns; /* and only those that may have taken as long */
	bool flat; /* calls, durations and what passed in the functions themselves, no more */
};

/* Counts what the view shows: its threads and modules, and within its time the calls that may have
 * begun in it, and the time that passed in it. Returns 0, or -errno with @diag filled. */
int report_collect(struct trace_view *view, const struct report_wish *wish, struct report *out,
		   struct pugmark_diag *diag);
void report_deinit(struct report *report);

#endif
