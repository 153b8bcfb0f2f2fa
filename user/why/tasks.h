/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tasks.h: the tasks of a recording that a slice has come to, each with a trace of its own. */
#ifndef USER_WHY_TASKS_H
#define USER_WHY_TASKS_H

#include "offline/capture/families.h"
#include "user/why/criterion.h"
#include "user/why/shared.h"

struct why_task {
	uint32_t task;
	int32_t pid;	    /* of its process; -1: not known, as if it were that of all such */
	bool looked;	    /* it was built to its end, unless nothing is known of it */
	struct why_run own; /* with build NULL: nothing is */
};

struct why_tasks {
	const struct why_run *w; /* the one that is asked about; borrowed */
	struct families families;
	struct why_task *at;
	uint32_t n, room;
	struct why_process *processes; /* that have several threads, but that of @w */
	uint32_t n_processes;
};

struct why_process {
	int32_t pid;
	struct why_shared *shared;
};

/* Of the recording in @dir. 0 or -errno. */
int why_tasks_init(struct why_tasks *tasks, const struct why_run *w, const char *dir);
void why_tasks_deinit(struct why_tasks *tasks);
/* NULL: the slice has not come to it. */
struct why_task *why_tasks_find(const struct why_tasks *tasks, uint32_t task);
/* Adds @task and all that share its memory; moves those that are there. False: out of memory. */
bool why_tasks_add(struct why_tasks *tasks, uint32_t task);
/* The trace of @task, of which nothing is built yet. 0, or -errno: nothing is known of it. */
int why_task_open(const struct why_tasks *tasks, struct why_task *task);
void why_task_close(struct why_task *task);
/* A brought_ask's: @ctx is a struct why_tasks. */
const struct dep_build *why_tasks_build(void *ctx, uint32_t task);

#endif
