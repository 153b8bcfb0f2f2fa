// SPDX-License-Identifier: LGPL-2.1-or-later
/* shared.c: see shared.h. Pages with a byte for each of theirs: who has written it. */
#include "user/why/shared.h"

#include "offline/dep/shadow.h"

#include <errno.h>
#include <stdlib.h>

enum { NOBODY, SEVERAL = UINT16_MAX, PAGES_AT_FIRST = 1024 };

/* What a thread asks by. */
struct view {
	struct why_shared *shared;
	uint32_t task;
	uint16_t self; /* 1 + its index */
};

struct why_shared {
	uint64_t *numbers; /* a hash table of pages: their number + 1 */
	uint16_t **pages;  /* of each byte 1 + the index of who has written it */
	size_t n, room;
	uint64_t last_number; /* that was asked for last, + 1 */
	const uint16_t *last;
	struct view *views; /* one for each thread */
	uint32_t n_views;
	uint32_t untold; /* threads of which not all is known, */
	uint16_t one;	 /* and 1 + the index of the last of these */
	bool no_memory;
};

static size_t slot_of(const struct why_shared *s, uint64_t number)
{
	size_t i = number * 0x9e3779b97f4a7c15 >> 32 & (s->room - 1);
	while (s->numbers[i] && s->numbers[i] != number + 1)
		i = (i + 1) & (s->room - 1);
	return i;
}

static bool grow(struct why_shared *s)
{
	struct why_shared old = *s;
	s->room = old.room ? 2 * old.room : PAGES_AT_FIRST;
	s->numbers = calloc(s->room, sizeof(*s->numbers));
	s->pages = calloc(s->room, sizeof(*s->pages));
	if (!s->numbers || !s->pages) {
		free(s->numbers);
		free(s->pages);
		*s = old;
		return false;
	}
	for (size_t i = 0; i < old.room; i++)
		if (old.numbers[i]) {
			size_t to = slot_of(s, old.numbers[i] - 1);
			s->numbers[to] = old.numbers[i];
			s->pages[to] = old.pages[i];
		}
	free(old.numbers);
	free(old.pages);
	return true;
}

struct feed {
	struct why_shared *shared;
	uint16_t self;
};

static void take_page(void *ctx, uint64_t number, const uint32_t *defs)
{
	const struct feed *f = ctx;
	struct why_shared *s = f->shared;
	if (2 * (s->n + 1) > s->room && !grow(s)) {
		s->no_memory = true;
		return;
	}
	size_t i = slot_of(s, number);
	if (!s->pages[i]) {
		s->pages[i] = calloc(SHADOW_PAGE, sizeof(**s->pages));
		if (!s->pages[i]) {
			s->no_memory = true;
			return;
		}
		s->numbers[i] = number + 1;
		s->n++;
	}
	for (unsigned k = 0; k < SHADOW_PAGE; k++) {
		uint16_t *who = &s->pages[i][k];
		if (defs[k])
			*who = *who == NOBODY || *who == f->self ? f->self : SEVERAL;
	}
}

/* Whether another task has ever written there, or nobody knows. */
static bool is_theirs(void *ctx, uint64_t addr)
{
	const struct view *v = ctx;
	struct why_shared *s = v->shared;
	if (s->untold > 1 || (s->untold && s->one != v->self))
		return true;
	uint64_t number = addr / SHADOW_PAGE;
	if (s->last_number != number + 1) {
		s->last = s->room ? s->pages[slot_of(s, number)] : NULL;
		s->last_number = number + 1;
	}
	uint16_t who = s->last ? s->last[addr % SHADOW_PAGE] : NOBODY;
	return who != NOBODY && who != v->self;
}

/* What one thread has written in all. */
static int look_through(struct why_shared *s, struct value_replay *replay, uint16_t self)
{
	struct pugmark_diag diag;
	struct value_run *run = NULL;
	struct dep_build *build = NULL;
	struct feed feed = {s, self};
	int err = value_run_new(replay, s->views[self - 1].task, &run, &diag);
	enum value_replay_stop stop = VALUE_REPLAY_GAP;
	if (!err && dep_build_new(run, &build))
		err = -ENOMEM;
	if (!err) {
		value_run_snapshot_every(run, UINT64_MAX / 2);
		stop = dep_build_forward(build, UINT64_MAX / 4);
		dep_build_written(build, take_page, &feed);
	}
	if (stop == VALUE_REPLAY_GAP) {
		s->untold++;
		s->one = self;
	}
	dep_build_free(build);
	value_run_free(run);
	return err == -ENOMEM || stop == VALUE_REPLAY_NO_MEMORY || s->no_memory ? -ENOMEM : 0;
}

int why_shared_new(struct value_replay *replay, const uint32_t *tasks, uint32_t n,
		   struct why_shared **out)
{
	struct why_shared *s = calloc(1, sizeof(*s));
	int err = s && n < SEVERAL ? 0 : -ENOMEM;
	if (!err && !(s->views = calloc(n + 1, sizeof(*s->views))))
		err = -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++) {
		s->views[s->n_views++] = (struct view){s, tasks[i], (uint16_t)(i + 1)};
		err = look_through(s, replay, (uint16_t)(i + 1));
	}
	if (err) {
		why_shared_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void why_shared_free(struct why_shared *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->room; i++)
		free(s->pages[i]);
	free(s->numbers);
	free(s->pages);
	free(s->views);
	free(s);
}

void why_shared_tell(struct why_shared *s, uint32_t task, struct dep_build *build)
{
	for (uint32_t i = 0; i < s->n_views; i++)
		if (s->views[i].task == task)
			dep_build_theirs(build, is_theirs, &s->views[i]);
}

uint32_t *why_threads_of(const struct captures *captures, const struct families *families,
			 uint32_t task, uint32_t *n)
{
	const struct family_task *self = families_find(families, task);
	uint32_t n_all;
	const uint32_t *all = captures_tasks(captures, &n_all);
	uint32_t *tasks = calloc(n_all + 1, sizeof(*tasks));
	*n = 0;
	for (uint32_t i = 0; tasks && i < n_all; i++) {
		const struct family_task *other = families_find(families, all[i]);
		if (all[i] == task || !self || !other || other->pid == self->pid)
			tasks[(*n)++] = all[i];
	}
	return tasks;
}
