/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tries.h: what the tries of `pugmark switch` share, and what came of them. */
#ifndef USER_SWITCH_TRIES_H
#define USER_SWITCH_TRIES_H

#include "user/switch/switch.h"

#include "offline/base/vec.h"

/* A candidate that does it; or one that only comes closer. */
struct critical {
	size_t candidate;
	uint64_t right;	    /* bytes that were printed rightly */
	unsigned same_ways; /* of the candidate */
	bool was_taken;
};

/* A candidate whose replay ended before its outcome was certain. */
struct unfinished {
	size_t candidate;
	uint64_t right;	       /* as above, up to there */
	uint64_t instructions; /* behind the jump */
	bool was_taken;
	char why[160];
};

struct tries {
	const struct switch_options *o;
	const struct candidates *c;
	/* NULL, or what says that a candidate is of no use any more, nor any behind it. */
	bool (*is_useless)(void *ctx, size_t candidate);
	void *ctx;
	const volatile int *stop; /* NULL, or what a signal handler sets */
	size_t next, until;	  /* candidates: the next one, and those before which are of use */
	VEC(struct critical) found;
	VEC(struct critical) closer; /* more bytes are right than without it */
	VEC(struct unfinished) unfinished;
	uint64_t done, too_long, unturned;
};

/* @t->c, each turned in a run of the program. 0 or -errno with @diag filled. */
int tries_by_running(struct tries *t, struct pugmark_diag *diag);
/* The same as tasks of a cluster. */
int tries_on_cluster(struct tries *t, struct pugmark_diag *diag);
/* The program as it is has to fail; where it prints something else than it should, that tells what
 * is wrong. */
int run_as_it_is(struct switch_options *o, struct pugmark_diag *diag);
/* @t->c, one behind the other, in the replay of @w. 0 or -errno with @diag filled. */
int tries_in_replay(struct tries *t, struct why_run *w, struct pugmark_diag *diag);
/* The same of the recorded run. */
int replay_as_it_is(struct switch_options *o, struct pugmark_diag *diag);

/* The answer. */
void tries_print_text(const struct tries *t, const struct why_run *w);
void tries_print_json(const struct tries *t, const struct why_run *w);

#endif
