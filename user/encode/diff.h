/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* diff.h: two recordings compared by the automata of their functions: which functions ran, what
 * they called, and in what order. */
#ifndef USER_DIFF_H
#define USER_DIFF_H

#include "user/encode/encode.h"

enum diff_kind {
	DIFF_FUNCTION, /* it ran in one of the two */
	DIFF_CALL,     /* `function` called `callee` in one of the two */
	DIFF_ORDER,    /* after `path` it goes on by `callee` (or ends) in one of the two */
	DIFF_COUNT,    /* it ran in both, but not equally often */
	N_DIFF_KINDS
};

enum { DIFF_PATH = 8, DIFF_END = UINT32_MAX };

struct difference {
	enum diff_kind kind;
	bool second;			  /* it is the second recording that has it */
	uint32_t function;		  /* name index */
	uint32_t callee;		  /* symbol, or DIFF_END */
	uint64_t counts[2];		  /* how often, in both */
	uint32_t path[DIFF_PATH], n_path; /* the last symbols before, of a shortest way there */
	bool path_cut;			  /* there are more before these */
};

struct diff {
	struct encode sides[2];	      /* share the symbols of the first */
	VEC(struct difference) found; /* by kind, then by name */
};

/* Reads both recordings, which are open. 0, or -errno with @diag filled. */
int diff_run(struct diff *d, struct pugmark_diag *diag);
void diff_deinit(struct diff *d);

#endif
