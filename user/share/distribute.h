/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* distribute.h: makes shares, records a command under each of them, and merges. The engine says
 * where the runs are made: on this host one after the other (a probe belongs to a file: runs at the
 * same time would pay for each other's probes), or on the nodes of a cluster (slurm.h). */
#ifndef USER_SHARE_DISTRIBUTE_H
#define USER_SHARE_DISTRIBUTE_H

#include "offline/share/share.h"
#include "user/share/merge.h"

enum distribute_engine { DISTRIBUTE_LOCAL, DISTRIBUTE_SLURM };

struct distribute_request {
	enum distribute_engine engine;
	const char *binary;   /* that is traced */
	char *const *command; /* what is run; ends with NULL */
	struct share_options shares;
	const char *output; /* the merged recording */
	const char *work;   /* folder for shares and parts */
	uint32_t retries;   /* how often a run that failed is made again */
	/* Slurm: a folder that all nodes see (NULL: @work), and files that the command reads. */
	const char *shared;
	const char *const *inputs;
	uint32_t n_inputs;
};

struct distribute_run {
	uint32_t machine;
	double expected_ns, seconds;
	uint64_t events;
	uint32_t tries;
	char node[65]; /* Slurm: where it was made */
};

struct distribute_result {
	uint32_t n; /* shares */
	struct distribute_run runs[SHARES_MAX];
	double whole_ns;	   /* what one share of all is expected to cost */
	int exit_status;	   /* of the command, in the first run */
	struct merge_result merge; /* free merge.first_divergence */
};

/* Returns 0, or -errno with @diag filled. What the command prints in the first run goes where ours
 * goes; of the others nowhere. Each run reads what standard input holds if that is a regular file,
 * and else nothing. */
int distribute(const struct distribute_request *request, struct distribute_result *out,
	       struct pugmark_diag *diag);

#endif
