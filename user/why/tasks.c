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

bool why_tasks_add(struct why_tasks *t, uint32_t task)
{
	const struct family_task *self = families_find(&t->families, task);
	uint32_t n;
	const uint32_t *all = captures_tasks(value_replay_captures(t->w->replay), &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct family_task *other = families_find(&t->families, all[i]);
		if (why_tasks_find(t, all[i]) ||
		    (all[i] != task && self && other && other->pid != self->pid))
			continue;
		if (t->n == t->room) {
			uint32_t room = 2 * t->room + 8;
			struct why_task *at = realloc(t->at, room * sizeof(*at));
			if (!at)
				return false;
			t->at = at;
			t->room = room;
		}
		t->at[t->n++] =
			(struct why_task){.task = all[i], .pid = self && other ? self->pid : -1};
	}
	return true;
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
	if (err)
		why_task_close(task);
	return err;
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
