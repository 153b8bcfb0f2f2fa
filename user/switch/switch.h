/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* switch.h: `pugmark switch`: turns one jump after another until the outcome is as asked (Zhang,
 * Gupta, Gupta, "Locating faults through automated predicate switching", ICSE 2006). */
#ifndef USER_SWITCH_SWITCH_H
#define USER_SWITCH_SWITCH_H

#include "user/again/outcome.h"
#include "user/switch/candidates.h"

/* Tries as tasks of a Slurm cluster. */
struct switch_cluster {
	bool used;
	uint32_t machines;   /* tasks side by side */
	uint32_t retries;    /* of a task that has left nothing */
	const char *shared;  /* a folder that all nodes see */
	const char **inputs; /* files that the program reads, below this folder */
	uint32_t n_inputs;
	const char *binary; /* of the program */
};
enum { SWITCH_MACHINES_MAX = 64 };

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
	struct switch_cluster cluster;
	bool json;
};

/* What task @number, from 1, of a job does on its node. @folder, @sum: of the job. 0, or -errno
 * with
 * @diag filled. */
int switch_task(const char *folder, const char *sum, uint32_t number, struct pugmark_diag *diag);
/* Returns 0: found; 1: none of those tried; or -errno with @diag filled. */
int switch_print(struct switch_options *options, struct pugmark_diag *diag);

#endif
