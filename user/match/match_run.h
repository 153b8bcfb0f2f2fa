/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* match_run.h: the history of one task of a recording of level values, with names. */
#ifndef USER_MATCH_MATCH_RUN_H
#define USER_MATCH_MATCH_RUN_H

#include "offline/match/match.h"
#include "user/values/names/value_names.h"

struct match_run {
	struct value_replay *replay;
	struct value_names *names;
	struct value_run *run;
	struct dep_build *build;
	struct match_history *history;
	struct match_side side;
	uint32_t *functions;
	struct match_insn *cut; /* NULL, or side.insns: see match_run_cut() */
	uint64_t executed;	/* instructions */
	bool partial;		/* its values end in a gap */
};

/* Names of functions, numbered for both runs together. */
struct match_names {
	const char **at; /* a vector; borrowed from the runs' names */
	uint32_t n, max;
};

/* Executes the task with that number (0: the first) again. 0, or -errno with @diag filled; to be
 * freed with match_run_deinit() in both cases. */
int match_run_init(struct match_run *r, const char *dir, uint32_t task, struct match_names *names,
		   struct pugmark_diag *diag);
/* How far into @b's run the other one, @a, has come as well, where one of them goes on: up to the
 * last output of @b that @a has written, too. In instructions. */
uint64_t match_run_both(const struct match_run *a, const struct match_run *b);
/* Leaves what it has done before instruction @count. 0 or -ENOMEM. */
int match_run_cut(struct match_run *r, uint64_t count);
void match_run_deinit(struct match_run *r);

#endif
