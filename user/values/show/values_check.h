/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* values_check.h: how much of a recording's values is known: every task is executed again, and
 * every capture is checked against what that comes to. */
#ifndef USER_VALUES_CHECK_H
#define USER_VALUES_CHECK_H

#include "user/values/names/value_names.h"

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

/* Instructions that often made something that is not exact. */
struct values_why {
	uint64_t n;	/* executions */
	uint64_t ip;	/* run-time address */
	bool unknown;	/* what they made: unknown, or assumed */
	char text[200]; /* "FUNC 0xADDRESS: of what" */
};
enum { VALUES_WHY = 3 }; /* of each quality at most */

struct values_task {
	uint32_t task;
	uint64_t instructions;
	uint64_t assumed, unknown; /* of them: with a result that is */
	uint64_t supposed; /* of the exact ones: behind a branch that an assumed value decided */
	bool complete;	   /* up to the task's end */
	char gap[480];	   /* why not; "" */
	uint64_t blind;	   /* how often a library was not executed to its end: what it may have
			    * written is assumed */
	char why[420];	   /* the first time; "" */
	struct values_why most[2 * VALUES_WHY]; /* unknown ones first */
	unsigned n_most;
};

struct values_result {
	struct values_task *tasks;
	uint32_t n;
	uint64_t instructions, assumed, unknown, supposed;
	uint64_t damaged_bytes; /* of the captures: they may have told of more tasks */
	struct value_damage rest;
	bool complete;
};

/* Returns 0 and a result that the caller frees with values_check_deinit(); -ENODATA: the recording
 * in
 * @dir has no values; or -errno with @diag filled. */
int values_check(const char *dir, struct values_result *out, struct pugmark_diag *diag);
void values_check_deinit(struct values_result *result);

#endif
