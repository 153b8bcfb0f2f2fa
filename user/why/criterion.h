/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* criterion.h: what a user asks for, as a criterion of a slice. The dependences are built as far as
 * that needs: a backward slice to the moment that is asked about, a forward one to the end. */
#ifndef USER_WHY_CRITERION_H
#define USER_WHY_CRITERION_H

#include "offline/slice/control.h"
#include "user/values/names/value_names.h"
#include "user/why/why.h"

struct why_extra {
	enum why_set_kind kind;
	struct slice_criterion criterion;
	uint32_t *defs;
};

struct why_run {
	struct value_replay *replay;
	struct value_names *names;
	uint32_t task; /* the number of the one whose slice it is */
	struct value_run *run;
	struct dep_build *build;
	struct slice_criterion criterion;
	struct why_shared *shared;     /* of its process, where that has several threads */
	uint32_t *defs;		       /* of the criterion */
	uint64_t addr, addr_len;       /* of the memory whose bytes they are; 0: not told */
	struct slice_control *control; /* NULL: not followed */
	bool needs_control;
	bool partial;		  /* the replay ended in a gap */
	struct why_extra *extras; /* one for each of the options' sets */
	unsigned n_extras;
	char said[256]; /* the criterion in words */
};

/* Opens the recording, and finds what @o asks for. 0, or -errno with @diag filled; to be freed with
 * why_run_deinit() in both cases. */
int why_run_init(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag);
/* Of what has been built: which jumps decided what. 0, or -errno with @diag filled. */
int why_run_control(struct why_run *w, const struct why_options *o, struct pugmark_diag *diag);
void why_run_deinit(struct why_run *w);

#endif
