// SPDX-License-Identifier: LGPL-2.1-or-later
/* tasks.c: see tasks.h. */
#include "user/why/tasks.h"

#include <errno.h>
#include <stdlib.h>

int why_tasks_init(struct why_tasks *t, const struct why_run *w, const char *dir)
{
	struct pugmark_diag diag;
	*t = (struct why_tasks){.w = w};
	return families_read(dir, &t->families, &diag);
}

void why_tasks_deinit(struct why_tasks *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		why_task_close(&t->at[i]);
	for (uint32_t i = 0; i < t->n_processes; i++)
		why_shared_free(t->processes[i].shared);
	free(t->processes);
	families_deinit(&t->families);
	free(t->at);
	*t = (struct why_tasks){0};
}

struct why_task *why_tasks_find(const struct why_tasks *t, uint32_t task)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i].task == task)
			return &t->at[i];
	return NULL;
}

/* Which bytes the @n threads @tasks of process @pid share; that of the first task is known. */
static bool add_process(struct why_tasks *t, int32_t pid, const uint32_t *tasks, uint32_t n)
{
	bool own = false;
	for (uint32_t i = 0; i < n; i++)
		own |= tasks[i] == t->w->task;
	if (n < 2 || (own && t->w->shared))
		return true;
	struct why_process *more =
		realloc(t->processes, (t->n_processes + 1) * sizeof(*t->processes));
	if (!more)
		return false;
	t->processes = more;
	struct why_process *p = &more[t->n_processes];
	p->pid = pid;
	if (why_shared_new(t->w->replay, tasks, n, &p->shared))
		return false;
	t->n_processes++;
	return true;
}

bool why_tasks_add(struct why_tasks *t, uint32_t task)
{
	const struct family_task *self = families_find(&t->families, task);
	int32_t pid = self ? self->pid : -1;
	uint32_t n;
	if (why_tasks_find(t, task))
		return true;
	uint32_t *tasks =
		why_threads_of(value_replay_captures(t->w->replay), &t->families, task, &n);
	bool fine = tasks && add_process(t, pid, tasks, n);
	for (uint32_t i = 0; i < n && fine; i++) {
		if (why_tasks_find(t, tasks[i]))
			continue;
		if (t->n == t->room) {
			uint32_t room = 2 * t->room + 8;
			struct why_task *at = realloc(t->at, room * sizeof(*at));
			fine = at;
			if (!at)
				break;
			t->at = at;
			t->room = room;
		}
		t->at[t->n++] = (struct why_task){.task = tasks[i], .pid = pid};
	}
	free(tasks);
	return fine;
}

int why_task_open(const struct why_tasks *t, struct why_task *task)
{
	struct pugmark_diag diag;
	task->own = *t->w;
	task->own.task = task->task;
	task->own.build = NULL;
	task->own.run = NULL;
	task->looked = true;
	int err = value_run_new(t->w->replay, task->task, &task->own.run, &diag);
	if (!err && dep_build_new(task->own.run, &task->own.build))
		err = -ENOMEM;
	if (err) {
		why_task_close(task);
		return err;
	}
	const struct family_task *self = families_find(&t->families, t->w->task);
	bool own = !self || self->pid == task->pid;
	if (own && t->w->shared)
		why_shared_tell(t->w->shared, task->task, task->own.build);
	for (uint32_t i = 0; i < t->n_processes; i++)
		if (t->processes[i].pid == task->pid)
			why_shared_tell(t->processes[i].shared, task->task, task->own.build);
	return 0;
}

void why_task_close(struct why_task *task)
{
	dep_build_free(task->own.build);
	value_run_free(task->own.run);
	task->own.build = NULL;
	task->own.run = NULL;
}

const struct dep_build *why_tasks_build(void *ctx, uint32_t task)
{
	const struct why_tasks *t = ctx;
	const struct why_task *found = why_tasks_find(t, task);
	return found ? found->own.build : task == t->w->task ? t->w->build : NULL;
}
