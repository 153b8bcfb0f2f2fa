/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_run.h: one run of a command, recorded under one share. Every engine of `distribute` makes
 * its runs by this, so that they are alike wherever they are made. */
#ifndef USER_SHARE_SHARE_RUN_H
#define USER_SHARE_SHARE_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct share_run_request {
	const char *plan, *part; /* the share, and the recording to be made */
	char *const *command;	 /* ends with NULL */
	char *const *environ;	 /* the command's and the recorder's; NULL: this process's */
	const char *input;  /* standard input; NULL: ours if that is a regular file, else none */
	const char *output; /* standard output; NULL: ours */
	/* NULL, or what a signal handler sets: then the recorder is asked to end. */
	const volatile int *stop;
};

struct share_run {
	bool whole; /* it was recorded to its end, and no event was lost */
	int exit_status;
	double seconds;
	uint64_t events;
};

/* Runs `pugmark record` without randomized addresses. Returns 0, or -errno: it could not be run. */
int share_run(const struct share_run_request *request, struct share_run *out);

#endif
