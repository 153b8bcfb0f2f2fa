/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* forked.h: what a slice in a forked process has read of the memory and the registers that its
 * parent had: there it goes on in the parent, as it was at that call. */
#ifndef USER_WHY_FORKED_H
#define USER_WHY_FORKED_H

#include "user/why/fold.h"
#include "user/why/tasks.h"

struct forked_child {
	uint32_t task, parent;
	bool asked;	/* it is of the slice that is asked for, not of one that goes on */
	uint64_t order; /* of the record of the parent's call */
	struct fold_born *read;
	size_t n_read;
	uint64_t bytes; /* of those */
	struct dep_units units;
	uint64_t count; /* in the parent; UINT64_MAX: not known */
	bool fresh;	/* not answered yet */
};

struct forked {
	struct forked_child *at;
	size_t n;
	uint64_t untold; /* bytes that the parent's values are not known of */
};

/* What the slice of @task (whose trace @own is of) has read so; @asked: as above. 0 or -ENOMEM. */
int forked_take(struct forked *f, const struct why_tasks *tasks, const struct why_run *own,
		uint32_t task, bool asked, const struct fold_foreigns *read,
		const struct dep_units *left);
/* Whether some of them have no answer yet. */
bool forked_fresh(const struct forked *f);
/* Adds the parents of those to @tasks. False: out of memory. */
bool forked_add(const struct forked *f, struct why_tasks *tasks);
/* Answers them: definitions in the parents, each in @start of @ctx. 0 or -ENOMEM. */
int forked_answer(struct forked *f, const struct why_tasks *tasks,
		  bool (*start)(void *ctx, uint32_t task, uint32_t def, uint64_t count), void *ctx);
/* The registers that children want of @task; the caller frees. NULL: out of memory. */
struct slice_more *forked_more(const struct forked *f, uint32_t task, size_t *n);
void forked_deinit(struct forked *f);

#endif
