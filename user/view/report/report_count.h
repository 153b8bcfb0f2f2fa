/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report_count.h: the counters of a report while it is made: each worker reads one thread after the
 * other and has counters of its own, by number of function. Private to report*.c. */
#ifndef USER_REPORT_COUNT_H
#define USER_REPORT_COUNT_H

#include "user/cli/progress.h"
#include "user/view/trace/calls.h"
#include "user/view/report/durations.h"
#include "user/view/report/report.h"
#include "user/view/report/slowest.h"

/* Counters of a function in one worker. */
struct report_counter {
	uint64_t calls;
	struct time_bounds total, self;
	uint64_t covered_ns; /* the upper bound has the time up to here */
	uint64_t span;	     /* the last span that self's upper bound has */
	uint32_t open;	     /* activations */
	uint64_t unsure;     /* of the calls: they may have begun before or after the view's time */
	/* Calls between the same two witnesses of the present thread: the stretch that began at
	 * stretch_ns has so many, and no other one had more than @stretch_most. */
	uint64_t stretch_ns, stretch, stretch_most;
	uint64_t hidden; /* as report_func's */
};

/* Of each call of a function: what it took at least and at most. */
struct report_took {
	struct durations certain, possible;
};

/* An open call. */
struct level {
	uint32_t id, edge;
	bool outermost, counted;
};

struct report_worker {
	struct report_job *job;
	struct report_counter *counters;
	struct report_took *took; /* by number of function, as the counters */
	struct report_edge *edges;
	uint64_t *edge_covered_ns;
	uint32_t *table; /* hash of edges: index + 1 */
	uint32_t n_edges, cap_edges, table_size;
	struct level *levels; /* the notes of the calls */
	struct calls calls;
	uint32_t top, left; /* id of the innermost open call; of the one that has just been left */
	uint64_t span, span_from_ns, span_to_ns;
	bool was_open; /* the present thread ran before its first event */
	uint64_t gaps, witnesses;
	uint32_t task;
	struct slowest slow;
	struct time_bounds in_gaps;
	bool failed;
};

struct report_job {
	struct trace_view *view;
	const struct report_wish *wish;
	struct func_ids ids;
	struct report_func *funcs;
	uint32_t *tasks, n_tasks;
	struct report_worker *workers;
	uint32_t n_workers;
	struct progress progress;
	_Atomic uint32_t failed_task;
};

/* Begins to count task @task with @worker, whose counters are as after another one or zero; then it
 * takes the task's events, and in the end the time of its end. report_count_feed() returns 0 or
 * -ENOMEM. */
void report_count_begin(struct report_worker *worker, uint32_t task);
int report_count_feed(struct report_worker *worker, const struct pugmark_trace_event *event);
void report_count_finish(struct report_worker *worker, uint64_t end_ns);
/* The bounds of the duration that the share @q of all calls does not exceed. */
struct time_bounds report_quantile(const struct report_took *took, double q);
/* Frees what @n functions have of durations. */
void report_took_deinit(struct report_took *took, uint32_t n);
/* Counts the task at @index of job->tasks with @worker: what parallel_do() calls. 0 or -errno. */
int report_count_task(void *job, uint32_t worker, uint32_t index);
/* The index of the calls of @callee by @caller among w->edges, made where there is none; where
 * memory is out w->failed is set. */
uint32_t report_edge_between(struct report_worker *w, uint32_t caller, uint32_t callee);

#endif
