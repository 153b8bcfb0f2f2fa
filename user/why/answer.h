/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* answer.h: what `why` has found, from the slices to the lines. */
#ifndef USER_WHY_ANSWER_H
#define USER_WHY_ANSWER_H

#include "user/why/graph.h"
#include "user/why/passing.h"
#include "user/why/threads.h"
#include "user/why/why.h"

/* All zeros at first. */
struct why_slice {
	struct fold fold;
	struct why_graph graph; /* not for text */
	struct why_line *lines;
	size_t n, functions;
	size_t beside;	   /* of n: lines of jumps that are not in it */
	size_t whole;	   /* lines before other slices took some away */
	size_t pruned;	   /* of n, at the end: lines of which nothing is in doubt */
	uint64_t *pinned;  /* NULL: no output is said to be right */
	uint64_t *centers; /* of the fold */
	struct why_passing *passing;
	struct fold_foreigns foreign;
	struct why_threads threads;
	bool critical; /* they are jumps that were found to be critical */
	bool ranked;   /* lines are in the order of doubt */
	bool ends;
};

/* Fills @s as @o asks of the run @w. Returns 0, or -errno with @diag filled but for -ENOMEM. @s is
 * freed by why_slice_deinit() in any case. */
int why_slice_compute(struct why_run *w, struct why_slice *s, const struct why_options *o,
		      struct pugmark_diag *diag);
void why_slice_deinit(struct why_slice *s);

/* How many of the lines are shown. */
size_t why_shown(const struct why_slice *s, const struct why_options *o);
const char *why_direction(const struct why_options *o);

#endif
