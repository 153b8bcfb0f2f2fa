/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* match_print.h: `pugmark match A B`. */
#ifndef USER_MATCH_MATCH_PRINT_H
#define USER_MATCH_MATCH_PRINT_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

struct match_options {
	const char *dirs[4]; /* two, and NULL or two of the same programs on an input on which they
				did the same */
	uint32_t tasks[2];   /* 0: the first */
	uint64_t intervals;
	uint64_t limit; /* unmatched instructions that are listed */
	bool all;	/* every match is listed */
	bool follow;	/* while they are recorded: again and again, until both are over */
	bool json;
};

/* Returns 0; 1 where unmatched instructions rise, or a recording's values end in a gap; -errno with
 * @diag filled. */
int match_print(const struct match_options *options, struct pugmark_diag *diag);

#endif
