/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reduce.h: `pugmark reduce`: the smallest input that fails as the given one does, by ddmin
 * (Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", TSE 2002): first in
 * lines, then in bytes. Nothing can be taken out of the result in one piece of one byte without
 * its failing no more. */
#ifndef USER_AGAIN_REDUCE_H
#define USER_AGAIN_REDUCE_H

#include "user/again/outcome.h"

struct reduce_options {
	struct private_command command; /* with the failing input */
	const struct outcome *outcome;	/* what failing is */
	const char *to;			/* the file that is written */
	uint64_t tries;
	unsigned jobs;
	bool json;
};

/* Returns 0; 1: stopped at the number of tries, and what was reached is written; or -errno with
 * @diag filled. */
int reduce_print(struct reduce_options *options, struct pugmark_diag *diag);

#endif
