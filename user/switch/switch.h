/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* switch.h: `pugmark switch`: turns one jump after another until the outcome is as asked (Zhang,
 * Gupta, Gupta, "Locating faults through automated predicate switching", ICSE 2006). */
#ifndef USER_SWITCH_SWITCH_H
#define USER_SWITCH_SWITCH_H

#include "user/again/outcome.h"
#include "user/switch/candidates.h"

struct switch_options {
	struct why_options why; /* the recording, and what is wrong with it */
	bool asked;		/* what is wrong was said; else the outcome tells */
	bool beside;		/* jumps that are not in the slice as well, behind the others */
	enum candidates_order order;
	uint64_t tries;
	bool all; /* goes on behind the first that does it */
	unsigned jobs;
	struct private_command command;
	const struct outcome *outcome;
	uint64_t right; /* bytes that are printed rightly as it is; found by switch_print() */
	bool replay;	/* nothing is run: jumps are turned in the replay of the recording */
	bool json;
};

/* Returns 0: found; 1: none of those tried; or -errno with @diag filled. */
int switch_print(struct switch_options *options, struct pugmark_diag *diag);

#endif
