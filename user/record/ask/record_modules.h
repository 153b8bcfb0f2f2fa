/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_modules.h: from what `record` was asked for to the modules that are probed: which files,
 * and the plan of each. */
#ifndef USER_RECORD_MODULES_H
#define USER_RECORD_MODULES_H

#include "user/file/targets.h"
#include "user/plan/planning.h"
#include "user/kernel/record_options.h"

enum { RECORD_MODULES_MAX = 64, RECORD_RUNNING_MAX = 1024 };

struct record_modules_options {
	const char *binary; /* the program; NULL: the command's, or the processes' */
	char *const *argv;
	const pid_t *pids;
	uint32_t n_pids;
	const char *const *modules; /* patterns: libraries to trace */
	uint32_t n_modules;
	bool no_program;   /* only those */
	const char *plan;  /* a plan file for the program; NULL: it is planned here */
	const char *sites; /* a list of sites instead of a plan */
	/* The modes by which the program is planned: for tests, several. Libraries are planned by
	 * the first. */
	const enum plan_mode *modes;
	uint32_t n_modes;
	const struct planning_options *planning;
	bool quiet;
};

struct record_modules {
	struct targets targets;
	struct recorder_module at[RECORD_MODULES_MAX];
	struct planning_result planned[RECORD_MODULES_MAX];
	struct pugmark_plan_site *sites;
	uint32_t n;
	int program_fds[64]; /* the programs: open files, and how many */
	uint32_t n_programs;
	uint32_t first, n_now; /* the modules that are probed now: those that were planned last */
	uint32_t models[RECORD_MODULES_MAX]; /* of these: where in @planned the model is */
	bool awaited[RECORD_MODULES_MAX];    /* per pattern: no such module was seen so far */
	struct targets refused;		     /* came later, and cannot be traced */
	char *news;			     /* heap, NULL: none: which came, and which cannot */
	const char *pid_programs[64];	     /* what each of the processes runs */
	/* Those of the program that run already, and all that they have loaded by now: what none of
	 * its libraries needs is a plugin to it. loaded.cut: more than is planned with. */
	pid_t running[RECORD_RUNNING_MAX];
	uint32_t n_running;
	struct targets loaded;
};

/* Finds and plans all. Returns 0, or -errno with @diag filled; @out is freed with
 * record_modules_deinit() either way. */
int record_modules_open(const struct record_modules_options *options, struct record_modules *out,
			struct pugmark_diag *diag);
/* Plans all modules anew as @request says: without some functions, and with files that processes
 * have loaded. Returns 0; *@first: where the new ones begin in @modules, *@n: how many (those
 * before, in their order, and behind them those that came); or -errno with @diag filled (-ENODATA:
 * nothing is left; -EALREADY: all stays as it is). */
int record_modules_replan(const struct record_modules_options *options,
			  struct record_modules *modules, const struct replan_request *request,
			  uint32_t *first, uint32_t *n, struct pugmark_diag *diag);
/* Whether a file that some process has mapped by the path @name is asked for. */
bool record_modules_wants(const struct record_modules_options *options, const char *name);
/* Nothing is planned anew from here on, and all plans are written: what only a trace needs of them
 * is given back. */
void record_modules_planned(struct record_modules *modules);
void record_modules_deinit(struct record_modules *modules);

#endif
