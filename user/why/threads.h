/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads.h: where a backward slice goes on in another thread: what it has read that this one
 * provably wrote (writers.h). There it follows data and, where asked, addresses, in a trace of that
 * thread's own; what that one read of others goes on in turn. */
#ifndef USER_WHY_THREADS_H
#define USER_WHY_THREADS_H

#include "user/why/lines.h"

struct why_thread {
	uint32_t task;
	struct fold fold;
	struct why_line *lines;
	size_t n;
	uint64_t calls;	  /* as below, of this one's slice */
	uint64_t inexact; /* instructions of the task that rest on something assumed */
};

struct why_threads {
	uint32_t *tasks;     /* of the process */
	struct why_run *own; /* one each, built to its end */
	uint32_t n_tasks;
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

/* Builds the traces of all threads, and tells that of @w which bytes no other one has written: its
 * slices go on there. 0 or -ENOMEM. */
int why_threads_open(struct why_run *w, const struct why_options *o, struct why_threads *out);
/* Goes on from what the slice of @w has read of others. 0 or -ENOMEM. */
int why_threads_follow(struct why_run *w, const struct why_options *o,
		       const struct fold_foreigns *foreign, struct why_threads *out);
/* Whether all that was read of others is followed. */
bool why_threads_whole(const struct why_threads *threads);
void why_threads_deinit(struct why_threads *threads);

#endif
