/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* live.h: what functions of a recording that is being made have done so far, and since the last
 * look: counted as report.h counts, while it grows. Memory is that of the functions, for each
 * thread that is alive, and does not grow with the events. */
#ifndef USER_VIEW_LIVE_H
#define USER_VIEW_LIVE_H

#include "user/view/report/report_count.h"

struct live_func {
	uint64_t calls;
	struct time_bounds self;
};

/* A thread that is read. */
struct live_task {
	struct report_worker *worker; /* heap; NULL: not begun, or ended */
	struct pugmark_trace_iter *it;
	bool ended;
};

struct live {
	struct trace_view *view;
	struct report_wish wish;
	struct report_job job;	 /* its ids; the workers are the tasks' */
	struct live_task *tasks; /* heap, as view->tasks */
	uint32_t n_tasks, n_ids, next;
	struct report_took *took; /* heap, by number of function: one for all threads */
	/* Heap, by number of function: of threads that have ended; of all at the last two looks. */
	struct live_func *past, *now, *before;
	uint64_t past_gaps, past_gaps_ns, past_witnesses;

	uint64_t read_ns; /* when the last event was that was read */
	uint32_t idle;	  /* looks since then */
	/* At the last look, and at the one before or when the recording began: */
	uint64_t witnesses, witnesses_before, time_ns, time_before_ns;
	uint64_t gaps, gaps_ns;
	uint32_t threads; /* that have not ended */
	uint32_t shown;	  /* these, and those that have */
	uint32_t waiting; /* of these, whose parents have to be read before */
	bool more;	  /* the recorder has not ended */
};

/* Begins with @view, which was opened growing and stays open. 0 or -ENOMEM; live_deinit() either
 * way. */
int live_init(struct live *live, struct trace_view *view);
void live_deinit(struct live *live);
/* Takes in what has been written since. 0, or -errno with @diag filled. */
int live_more(struct live *live, struct pugmark_diag *diag);
/* Reads what has been taken in, until it is read or it is @until_ns (CLOCK_MONOTONIC). Returns 1:
 * all is read, 0: there is more, or -errno with @diag filled. */
int live_read(struct live *live, uint64_t until_ns, struct pugmark_diag *diag);
/* Looks: live->now is of what has been read, live->before of the look before. Where nothing has
 * been read since, both stay as they are, for a few looks. */
void live_look(struct live *live);
/* Looks as if for the first time: live->before is of the begin of the recording. */
void live_whole(struct live *live);
/* Durations are those of calls that end from now on. */
void live_forget_durations(struct live *live);
/* Between these two looks: seconds of the recording; 0: it has no times, or no event. */
double live_seconds(const struct live *live);

#endif
