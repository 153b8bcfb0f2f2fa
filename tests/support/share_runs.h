/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_runs.h: what the runs under the shares of a plan would have recorded of a walk, and what
 * the merge makes of that. Each run has its program, its stacks and its clock elsewhere. */
#ifndef TESTS_SHARE_RUNS_H
#define TESTS_SHARE_RUNS_H

#include "offline/share/share.h"
#include "offline/share/share_merge.h"
#include "tests/support/walker.h"

struct merged_walk {
	struct pugmark_witness_event *events;
	uint32_t n, cap;
	bool diverged;
	struct share_divergence at; /* where it is */
	int err;		    /* of the merge */
};

/* The marks by which @plan's sites see the blocks of @prog. @marks and @capture_ret: one a block.
 */
void share_runs_marks(const struct program *prog, const struct pugmark_plan *plan,
		      struct choice *choice);
/* Splits the events of @walk by @set and merges them. The caller releases both. */
void share_runs_merge(const struct walk *walk, const struct share_set *set,
		      struct share_teller *teller, struct merged_walk *out);
/* As that, but the run under share @odd, from 0, is of another walk through the same program. */
void share_runs_merge_odd(const struct walk *walk, uint32_t odd, const struct walk *other,
			  const struct share_set *set, struct share_teller *teller,
			  struct merged_walk *out);
void merged_walk_deinit(struct merged_walk *merged);

#endif
