/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_args.h: what `pugmark record` was asked for. */
#ifndef USER_RECORD_ARGS_H
#define USER_RECORD_ARGS_H

#include "user/cli/options.h"
#include "user/record/ask/record_modules.h"

enum { RECORD_PIDS_MAX = 64, RECORD_TWINS_MAX = 3 };

/* Borrows from argv, and its parts from one another: it is not to be copied. */
struct record_args {
	struct recorder_options options;
	struct record_modules_options modules;
	/* The plan's, and --twin, for tests: the same run is recorded by other plans as well. */
	enum plan_mode modes[1 + RECORD_TWINS_MAX];
	struct planning_options planning;
	bool no_times;
	bool plan_at_once; /* what runs already may be slowed down by it */
	bool values;	   /* level values */
	uint32_t rotate;   /* so many shares in turn; 0: one recording */
	double every_s;	   /* how long a turn is */
	const char *imports;
	const char *no_memory;
	struct option_list redact;
	bool one_processor;
	uint32_t check_every;			 /* 0: calls are witnessed as well */
	bool paths, calls_only, placement_given; /* calls_only: a --mode that paths does not have */
	enum plan_mode placement;		 /* of level paths */
	struct option_list only, without, plugins, profiles, patterns, args_of, time_of, handles;
	uint32_t n_args;   /* --args */
	char output[4096]; /* options.output */
	pid_t pids[RECORD_PIDS_MAX];
};

/* Fills @args. Returns whether there is something to record; where not, help or what is wrong has
 * been printed and *@status is the exit status. */
bool record_args_parse(struct record_args *args, int argc, char **argv, int *status);

#endif
