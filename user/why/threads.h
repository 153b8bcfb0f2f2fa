/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads.h: where a backward slice goes on in another task, or at another moment of the same one:
 * at memory that another thread provably wrote (writers.h), and at bytes that a write of the
 * recording has brought (brought.h), and in the parent of a forked process (forked.h). There it
 * follows data and, where asked, addresses, in a trace of that task's own; what that one read goes
 * on in turn. */
#ifndef USER_WHY_THREADS_H
#define USER_WHY_THREADS_H

#include "user/why/brought.h"
#include "user/why/forked.h"
#include "user/why/lines.h"
#include "user/why/tasks.h"

struct why_thread {
	uint32_t task;
	struct fold fold;
	struct why_line *lines;
	size_t n;
	uint64_t calls;	  /* as below, of this one's slice */
	uint64_t inexact; /* instructions of the task that rest on something assumed */
};

struct why_threads {
	struct why_tasks tasks; /* of the processes that the slice came to, all of each */
	struct brought brought;
	struct forked forked;
	struct why_thread *at;
	size_t n;
	uint64_t reads;	     /* instances that read what may be others', */
	uint64_t from_start; /* of them: nobody has written it since the start, */
	uint64_t beside;     /* two may have written it, and nothing says who was last, */
	uint64_t untold;     /* values of a thread are not known up to there, */
	uint64_t left_out;   /* too many */
	uint64_t calls;	     /* that read what may be others': where is not told */
	uint32_t one,
		other; /* tasks of the first one of @beside: who read it, who may have written it */
};

/* 0 or -errno. */
int why_threads_open(struct why_run *w, const struct why_options *o, struct why_threads *out);
/* What the slice of @w has read of files, pipes and sockets: what nobody has brought there becomes
 * input of @fold; and of its parent, with what registers it wants of that. 0 or -ENOMEM. */
int why_threads_take(const struct why_run *w, const struct fold_foreigns *read,
		     const struct dep_units *left, struct fold *fold, struct why_threads *out);
/* Goes on from what the slice of @w has read of others. 0 or -ENOMEM. */
int why_threads_follow(struct why_run *w, const struct why_options *o,
		       const struct fold_foreigns *foreign, struct why_threads *out);
/* Goes on from what the forward slice of @w has written (@tainted: a bit for each of its
 * definitions), where reads of the recording have got it, in these tasks. 0 or -ENOMEM. */
int why_threads_onward(struct why_run *w, const struct why_options *o, const uint64_t *tainted,
		       struct why_threads *out);
/* Whether all that was read of others is followed. */
bool why_threads_whole(const struct why_threads *threads);
void why_threads_deinit(struct why_threads *threads);

#endif
