/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report.h: how often each function was called, by whom, and for how long, added up over the
 * threads of a recording.
 *
 * Times have two bounds. Between two witnesses the trace says in which order things happened, not
 * when: what was certainly inside of a function counts into its lower bound, what may have been
 * inside into the upper one, each span of time at most once a thread. Recursion counts once. */
#ifndef USER_REPORT_H
#define USER_REPORT_H

#include "user/view/trace_view.h"

struct time_bounds {
	uint64_t min_ns, max_ns;
};

/* What a number of report stands for: a function of a plan, an import, or something unnamed. */
enum report_kind { REPORT_FUNC, REPORT_IMPORT, REPORT_OUTSIDE, REPORT_UNKNOWN, REPORT_START };

struct report_func {
	uint64_t calls;
	struct time_bounds total; /* what it called included */
	struct time_bounds self;
	uint32_t func; /* REPORT_FUNC: of the module's plan */
	uint16_t module;
	uint8_t kind;	    /* enum report_kind */
	const char *import; /* REPORT_IMPORT */
};

/* Calls of one function by another. */
struct report_edge {
	uint32_t caller, callee; /* index of report->funcs */
	uint64_t calls;
	struct time_bounds total; /* of the callee */
};

struct report {
	struct report_func *funcs; /* all that could run; those with no calls did not */
	uint32_t n_funcs;
	struct report_edge *edges; /* in no order */
	uint32_t n_edges;
	uint64_t calls, gaps, witnesses;
};

/* Counts what the view shows: all of its threads and modules. Returns 0, or -errno with @diag
 * filled. */
int report_collect(struct trace_view *view, struct report *out, struct pugmark_diag *diag);
void report_deinit(struct report *report);

#endif
