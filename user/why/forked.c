// SPDX-License-Identifier: LGPL-2.1-or-later
/* forked.c: see forked.h. What the parent had is asked of a trace of it that ends at the call. */
#include "user/why/forked.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct forked_child *child_of(struct forked *f, uint32_t task, bool asked)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].task == task && f->at[i].asked == asked)
			return &f->at[i];
	struct forked_child *at = realloc(f->at, (f->n + 1) * sizeof(*at));
	if (!at)
		return NULL;
	f->at = at;
	at[f->n] = (struct forked_child){.task = task, .asked = asked, .count = UINT64_MAX};
	return &at[f->n++];
}

int forked_take(struct forked *f, const struct why_tasks *tasks, const struct why_run *own,
		uint32_t task, bool asked, const struct fold_foreigns *read,
		const struct dep_units *left)
{
	const struct family_task *self = families_find(&tasks->families, task);
	uint64_t order, bytes = 0;
	if (!self || !self->parent || !value_run_forked(own->run, &order) ||
	    (!read->n_born && !dep_units_any(left)))
		return 0;
	struct forked_child *c = child_of(f, task, asked);
	if (!c)
		return -ENOMEM;
	for (size_t i = 0; i < read->n_born; i++)
		bytes += read->born[i].n;
	/* A later slice of the task has all that an earlier one had. */
	if (bytes == c->bytes && !memcmp(&c->units, left, sizeof(*left)))
		return 0;
	struct fold_born *all = malloc((read->n_born + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < read->n_born; i++)
		all[i] = read->born[i];
	free(c->read);
	c->read = all;
	c->n_read = read->n_born;
	c->bytes = bytes;
	c->units = *left;
	c->parent = self->parent;
	c->order = order;
	c->fresh = true;
	return 0;
}

bool forked_fresh(const struct forked *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].fresh)
			return true;
	return false;
}

bool forked_add(const struct forked *f, struct why_tasks *tasks)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].fresh && !why_tasks_add(tasks, f->at[i].parent))
			return false;
	return true;
}

static int answer(struct forked *f, struct forked_child *c, const struct why_tasks *tasks,
		  bool (*start)(void *ctx, uint32_t task, uint32_t def, uint64_t count), void *ctx)
{
	const struct dep_build *whole = why_tasks_build((void *)tasks, c->parent);
	const struct dep_trace *t = whole ? dep_build_trace(whole) : NULL;
	uint64_t i = t ? SEARCH_FIRST_NOT(0, t->n_forks, k, t->forks[k].order < c->order) : 0;
	struct why_task *parent = why_tasks_find(tasks, c->parent);
	c->fresh = false;
	if (!t || !parent || i == t->n_forks || t->forks[i].order != c->order) {
		f->untold += c->bytes + !c->bytes;
		return 0;
	}
	c->count = t->forks[i].count;
	struct why_task then = {.task = c->parent, .pid = parent->pid};
	int err = why_task_open(tasks, &then);
	if (!err && dep_build_forward(then.own.build, c->count) == VALUE_REPLAY_NO_MEMORY)
		err = -ENOMEM;
	uint32_t last = 0;
	for (size_t k = 0; k < c->n_read && !err; k++)
		for (uint64_t b = 0; b < c->read[k].n && !err; b++) {
			uint32_t def = dep_build_def(then.own.build, c->read[k].addr + b);
			if (def && def != last && !start(ctx, c->parent, def, c->count))
				err = -ENOMEM;
			last = def;
		}
	/* So that the registers are asked for, whatever of memory is. */
	if (!err && !start(ctx, c->parent, 0, c->count))
		err = -ENOMEM;
	why_task_close(&then);
	return err == -ENOMEM ? err : 0;
}

int forked_answer(struct forked *f, const struct why_tasks *tasks,
		  bool (*start)(void *ctx, uint32_t task, uint32_t def, uint64_t count), void *ctx)
{
	int err = 0;
	for (size_t i = 0; i < f->n && !err; i++)
		if (f->at[i].fresh)
			err = answer(f, &f->at[i], tasks, start, ctx);
	return err;
}

static int last_first(const void *a, const void *b)
{
	const struct slice_more *x = a, *y = b;
	return x->count > y->count ? -1 : x->count < y->count;
}

struct slice_more *forked_more(const struct forked *f, uint32_t task, size_t *n)
{
	struct slice_more *more = calloc(f->n + 1, sizeof(*more));
	*n = 0;
	for (size_t i = 0; more && i < f->n; i++)
		if (f->at[i].parent == task && f->at[i].count != UINT64_MAX)
			more[(*n)++] = (struct slice_more){f->at[i].count, f->at[i].units};
	if (*n)
		qsort(more, *n, sizeof(*more), last_first);
	return more;
}

void forked_deinit(struct forked *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->at[i].read);
	free(f->at);
	*f = (struct forked){0};
}
