// SPDX-License-Identifier: LGPL-2.1-or-later
/* threads_open.c: which threads a run is executed with, up to when that can be, and how they begin;
 * threads.c goes on. */
#include "offline/replay/threads_open.h"

#include "offline/replay/lead/outside.h"
#include "offline/replay/records/calls_told.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/records/waking.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/together.h"
#include "offline/replay/run_make.h"
#include "offline/replay/threads/neighbours.h"
#include "offline/replay/threads/threads.h"

#include <errno.h>
#include <stdlib.h>

/* --- up to when ------------------------------------------------------------------------------ */

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool add_span(struct span **list, size_t *n, struct span span)
{
	enum { EACH = 4096 };
	if (*n % EACH == 0) {
		struct span *more = realloc(*list, (*n + EACH) * sizeof(*more));
		if (!more)
			return false;
		*list = more;
	}
	(*list)[(*n)++] = span;
	return true;
}

/* The first moment at which two are awake, which nobody has if --one-processor was asked for: then
 * losses of the processor are told, and threads part there. False: memory is out. */
static bool find_crowded(struct value_threads *t)
{
	struct span *list = NULL;
	size_t n = 0;
	bool fine = true, told = false;
	for (size_t i = 0; fine && i < t->n; i++) {
		struct kept_records *records = t->at[i]->records;
		struct waking waking = {0};
		struct span span;
		for (uint64_t k = 0; fine && k < records->n; k++) {
			const struct capture *c = kept_records_at(records, k);
			told |= c->kind == CAPTURE_SWITCH;
			if (value_waking_next(&waking, c, &span))
				fine = add_span(&list, &n, span);
		}
		if (fine && waking.awake)
			fine = add_span(&list, &n, (struct span){waking.since, UINT64_MAX});
	}
	if (n)
		qsort(list, n, sizeof(*list), by_from);
	uint64_t to = 0;
	t->crowded = UINT64_MAX;
	for (size_t i = 0; i < n && t->crowded == UINT64_MAX; i++) {
		if (i && list[i].from < to)
			t->crowded = list[i].from;
		to = list[i].to > to ? list[i].to : to;
	}
	if (t->crowded != UINT64_MAX && !told)
		t->at[0]->crowded_from = t->crowded;
	if (told && t->crowded < t->clear)
		t->clear = t->crowded;
	free(list);
	return fine;
}

/* --- the beginning --------------------------------------------------------------------------- */

/* A thread that goes on for longer without a record is one that waits for what does not come. */
#define PIECE_INSNS ((uint64_t)1 << 36)

static int go_on(struct value_run *m)
{
	return value_run_forward(m, value_run_count(m) + PIECE_INSNS, NULL);
}

static const struct thread_does does = {go_on, value_run_syscall, call_told_forks,
					value_run_begin_thread};

/* One that was there at the start begins as it was then, the others when they are made. */
static int begin(struct value_threads *t, struct value_run *m)
{
	const struct capture *first = value_run_record_at(m, 0);
	struct pugmark_diag diag;
	m->threads = t;
	m->led = m != t->at[0];
	m->snapshot_next = m->led ? UINT64_MAX : m->snapshot_next;
	m->unborn = !first || first->kind != CAPTURE_START;
	if (m->unborn)
		return 0;
	t->holder = t->holder ? t->holder : m;
	return value_run_start(m, &diag);
}

/* Makes those of the process of @self. -ENODATA: which these are cannot be told. */
static int make_others(struct value_threads *t, struct value_run *run,
		       const struct family_task *self)
{
	uint32_t n;
	const uint32_t *tasks = captures_tasks(run->replay->captures, &n);
	if (value_neighbours_lost(run->replay, self->pid))
		return -ENODATA;
	t->at = calloc(n + (size_t)1, sizeof(struct value_run *));
	t->tids = calloc(n + (size_t)1, sizeof(*t->tids));
	if (!t->at || !t->tids) {
		free(t->at);
		free(t->tids);
		t->at = NULL;
		return -ENOMEM;
	}
	t->at[0] = run;
	t->tids[0] = self->tid;
	t->n = 1;
	int err = 0;
	for (uint32_t i = 0; !err && i < n; i++) {
		const struct family_task *other = families_find(&run->replay->families, tasks[i]);
		if (!other)
			return -ENODATA;
		if (other == self || other->pid != self->pid)
			continue;
		err = value_run_make(run->replay, tasks[i], &t->at[t->n]);
		if (err)
			continue;
		t->tids[t->n] = other->tid;
		err = value_neighbours_new(run->replay, tasks[i], &t->at[t->n++]->neighbours);
	}
	return err;
}

/* Before another process writes there. */
static void clear_of_outer(struct value_threads *t, const struct value_replay *replay, int32_t pid)
{
	t->clear = UINT64_MAX;
	for (size_t i = 0; i < replay->n_outer; i++)
		if (replay->outer[i].pid != pid && replay->outer[i].from < t->clear)
			t->clear = replay->outer[i].from;
}

/* Executes all until the one that was asked for is made. */
static int wait_for_birth(struct value_threads *t)
{
	while (t->at[0]->unborn) {
		struct value_run *next = value_threads_next(t, 1, UINT64_MAX);
		if (!next || !value_threads_may_go_on(t, next))
			return -ENODATA;
		int stop = value_threads_step(t, next);
		if (stop != VALUE_REPLAY_LIMIT)
			return stop == VALUE_REPLAY_NO_MEMORY ? -ENOMEM : -ENODATA;
	}
	return value_threads_hand_over(t, t->at[0]);
}

int value_threads_new(struct value_run *run, uint32_t task)
{
	const struct family_task *self = families_find(&run->replay->families, task);
	if (!self || self->alone || !run->replay->whole)
		return 0;
	struct value_threads *t = calloc(1, sizeof(*t));
	if (t)
		t->does = &does;
	int err = t ? make_others(t, run, self) : -ENOMEM;
	if (!err) {
		clear_of_outer(t, run->replay, self->pid);
		err = find_crowded(t) ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < t->n; i++)
		err = begin(t, t->at[i]);
	err = err ? err : t->holder ? 0 : -ENODATA;
	err = err ? err : wait_for_birth(t);
	if (!err)
		return 0;
	/* As if there were no others; what was begun of the run is begun again. */
	if (t && t->at) {
		run->threads = t;
		value_threads_free(run);
	} else {
		free(t);
	}
	run->unborn = false;
	return err == -ENOMEM ? err : 0;
}
