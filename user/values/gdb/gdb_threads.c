// SPDX-License-Identifier: LGPL-2.1-or-later
/* gdb_threads.c: where each thread stands when one of them has moved, and which of them comes to
 * what gdb waits for first.
 *
 * Of a thread's instructions the order over all tasks is known from record to record: each lies in
 * a span, the piece between two records of its thread. Of two pieces that overlap nobody knows
 * which instruction came first. A thread whose piece overlaps with that of the one that has moved
 * stays where it is; else it goes as far as it must, and no further:
 *
 *   moved     ──────────r──[ here ]──r────
 *   another   ──r───────|──r─────────r────    forward: the first place of that piece
 *   another   ──r──[ system call         ]    it waits: the last place before the call
 *
 * All threads go on together where gdb says so: each is searched for a hit by itself, and that of
 * the earliest piece counts (going back: of the latest), of two that overlap that of the thread
 * that gdb has named. The others go back to where they were, and then to the new moment: no hit of
 * theirs is passed over. */
#include "user/values/gdb/gdb_threads.h"

#include <pugmark/recording.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT64_MAX

/* --- which there are ------------------------------------------------------------------------- */

static int find_ends(const struct captures *captures, struct gdb_thread *thread)
{
	struct captures_iter *iter;
	struct capture c = {0};
	int err = captures_iter_new(captures, thread->task, &iter), more = 0;
	if (err)
		return err;
	thread->end = CAPTURE_NEVER;
	for (bool first = true; (more = captures_next(iter, &c)) == 1; first = false) {
		if (first)
			thread->begin = c.order;
		thread->end = c.kind == CAPTURE_END ? c.order : CAPTURE_NEVER;
	}
	captures_iter_free(iter);
	return more;
}

static int add(struct gdb_threads *t, const struct captures *captures, uint32_t task,
	       const struct pugmark_recording_task *as)
{
	struct gdb_thread *thread = &t->at[t->n++];
	*thread = (struct gdb_thread){.task = task, .told = NOWHERE};
	if (as) {
		thread->tid = as->tid;
		memcpy(thread->name, as->comm, sizeof(thread->name));
		thread->name[sizeof(thread->name) - 1] = 0;
	}
	return find_ends(captures, thread);
}

static const struct pugmark_recording_task *find_task(const struct pugmark_recording_task *tasks,
						      uint32_t n, uint32_t number)
{
	for (uint32_t i = 0; i < n; i++)
		if (tasks[i].number == number)
			return &tasks[i];
	return NULL;
}

static int add_all(struct gdb_threads *t, const struct pugmark_recording *rec, uint32_t task)
{
	uint32_t n, n_told;
	const struct captures *captures = value_replay_captures(t->replay);
	const uint32_t *tasks = captures_tasks(captures, &n);
	const struct pugmark_recording_task *told = pugmark_recording_tasks(rec, &n_told);
	const struct pugmark_recording_task *self = find_task(told, n_told, task);
	int err = (t->at = calloc(n + (size_t)1, sizeof(*t->at))) ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < n; i++) {
		const struct pugmark_recording_task *as = find_task(told, n_told, tasks[i]);
		if (tasks[i] == task)
			t->moved = t->n;
		else if (!self || !as || as->pid != self->pid)
			continue;
		err = add(t, captures, tasks[i], as);
	}
	return err;
}

int gdb_threads_init(struct gdb_threads *t, struct value_replay *replay, const char *dir,
		     uint32_t task, struct pugmark_diag *diag)
{
	struct pugmark_recording *rec;
	*t = (struct gdb_threads){.replay = replay};
	int err = pugmark_recording_open(dir, &rec, diag);
	if (err)
		return err;
	err = add_all(t, rec, task);
	pugmark_recording_free(rec);
	err = err ? err : gdb_history_init(&t->history);
	if (err) {
		gdb_threads_deinit(t);
		return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "its threads: %s",
					strerror(-err));
	}
	/* Without the run of the task that was asked for there is nothing to serve. */
	struct gdb_thread *self = &t->at[t->moved];
	self->tried = true;
	err = value_run_new(replay, task, &self->run, diag);
	if (err)
		gdb_threads_deinit(t);
	self->told = 0;
	return err;
}

void gdb_threads_deinit(struct gdb_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		value_run_free(t->at[i].run);
	free(t->at);
	gdb_history_deinit(&t->history);
	t->at = NULL;
	t->n = 0;
}

struct gdb_thread *gdb_threads_find(struct gdb_threads *t, uint32_t task)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].task == task)
			return &t->at[i];
	return NULL;
}

/* --- when ------------------------------------------------------------------------------------ */

struct moment {
	uint64_t from, to;
};

/* A task that has no neighbours is alone at all times. */
static struct moment moment_of(const struct value_run *run)
{
	struct moment m;
	if (!value_run_when(run, &m.from, &m.to))
		m = (struct moment){0, UINT64_MAX};
	return m;
}

bool gdb_threads_is_there(const struct gdb_threads *t, const struct gdb_thread *thread)
{
	const struct gdb_thread *moved = &t->at[t->moved];
	struct moment now = moment_of(moved->run);
	return thread == moved || (thread->begin <= now.to && thread->end >= now.from);
}

/* The first place whose piece is not over before the moment @now, which that of the run is: by ever
 * longer steps, and back from the last of them. */
static void go_on(struct value_run *run, struct moment now)
{
	enum { LONGEST = 1 << 22 };
	uint64_t low = value_run_count(run), step = 1;
	enum value_replay_stop stop = VALUE_REPLAY_LIMIT;
	while (stop == VALUE_REPLAY_LIMIT && moment_of(run).to < now.from) {
		low = value_run_count(run);
		stop = value_run_seek(run, low + step);
		step = step < LONGEST ? 2 * step : step;
	}
	uint64_t high = value_run_count(run);
	if (moment_of(run).to < now.from)
		return; /* it is known no further */
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		value_run_seek(run, middle);
		if (moment_of(run).to < now.from)
			low = middle;
		else
			high = middle;
	}
	value_run_seek(run, high);
	if (moment_of(run).from > now.to)
		value_run_seek(run, low); /* it waits there meanwhile */
}

/* The last place whose piece has begun by the moment @now, which that of the run has not. */
static void go_back(struct value_run *run, struct moment now)
{
	uint64_t high = value_run_count(run), low = high, step = 1;
	while (low && moment_of(run).from > now.to) {
		high = low;
		low = low > step ? low - step : 0;
		step *= 2;
		value_run_seek(run, low);
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		value_run_seek(run, middle);
		if (moment_of(run).from > now.to)
			high = middle;
		else
			low = middle;
	}
	value_run_seek(run, low);
}

struct value_run *gdb_threads_run(struct gdb_threads *t, struct gdb_thread *thread)
{
	const struct gdb_thread *moved = &t->at[t->moved];
	struct pugmark_diag diag;
	if (!thread->tried && value_run_new(t->replay, thread->task, &thread->run, &diag))
		thread->run = NULL;
	thread->tried = true;
	if (!thread->run || thread == moved)
		return thread->run;
	struct moment now = moment_of(moved->run), own = moment_of(thread->run);
	if (own.to < now.from)
		go_on(thread->run, now);
	else if (own.from > now.to)
		go_back(thread->run, now);
	return thread->run;
}

/* --- moves ----------------------------------------------------------------------------------- */

static bool is_hit(const struct gdb_hit *hit)
{
	return hit->why != GDB_HIT_BEGIN && hit->why != GDB_HIT_END;
}

/* What one thread comes to, no further than the moment @limit. */
static void move_one(struct gdb_threads *t, struct gdb_thread *thread, enum gdb_move move,
		     uint64_t limit, struct gdb_hit *hit)
{
	struct gdb_history *h = &t->history;
	h->run = thread->run;
	switch (move) {
	case GDB_STEP:
		gdb_history_step(h, hit);
		break;
	case GDB_STEP_BACK:
		gdb_history_step_back(h, hit);
		break;
	case GDB_FORWARD:
		gdb_history_forward(h, value_run_count(thread->run) != thread->told, limit, hit);
		break;
	case GDB_BACK:
		gdb_history_back(h, limit, hit);
		break;
	}
}

struct best {
	size_t who;
	struct gdb_hit hit;
	struct moment at;
};

/* Whether @hit of a thread that is at @at counts before what was found: a hit before none, then by
 * the moment. */
static bool is_better(const struct best *best, const struct gdb_hit *hit, struct moment at,
		      bool back)
{
	if (is_hit(hit) != is_hit(&best->hit))
		return is_hit(hit);
	if (is_hit(hit))
		return back ? at.to > best->at.to : at.from < best->at.from;
	return back ? at.from < best->at.from : at.from > best->at.from;
}

static void try_others(struct gdb_threads *t, const uint64_t *was, enum gdb_move move,
		       struct best *best)
{
	bool back = move == GDB_BACK;
	size_t named = best->who;
	for (size_t i = 0; i < t->n; i++) {
		struct gdb_thread *thread = &t->at[i];
		struct gdb_hit hit;
		if (i == named || was[i] == NOWHERE)
			continue;
		uint64_t none = back ? 0 : UINT64_MAX;
		uint64_t limit = !is_hit(&best->hit) ? none : back ? best->at.to : best->at.from;
		move_one(t, thread, move, limit, &hit);
		struct moment at = moment_of(thread->run);
		if (is_better(best, &hit, at, back))
			*best = (struct best){i, hit, at};
	}
}

/* Another thread can have come to something only if a record of the one that steps was passed. */
static bool others_matter(const struct gdb_threads *t, enum gdb_move move, struct moment before,
			  struct moment after)
{
	bool steps = move == GDB_STEP || move == GDB_STEP_BACK;
	return steps ? t->history.n_watches && before.from != after.from : true;
}

void gdb_threads_move(struct gdb_threads *t, struct gdb_thread *thread, enum gdb_move move,
		      bool alone, struct gdb_hit *hit)
{
	bool back = move == GDB_BACK || move == GDB_STEP_BACK;
	uint64_t *was = calloc(t->n, sizeof(*was));
	alone |= t->n == 1 || !was;
	for (size_t i = 0; i < t->n && !alone; i++) {
		struct value_run *run = gdb_threads_run(t, &t->at[i]);
		was[i] = run ? value_run_count(run) : NOWHERE;
	}
	struct best best = {.who = thread - t->at};
	if (!gdb_threads_run(t, thread)) {
		*hit = (struct gdb_hit){.why = back ? GDB_HIT_BEGIN : GDB_HIT_END};
		free(was);
		return;
	}
	struct moment before = moment_of(thread->run);
	move_one(t, thread, move, back ? 0 : UINT64_MAX, &best.hit);
	best.at = moment_of(thread->run);
	if (!alone && others_matter(t, move, before, best.at)) {
		try_others(t, was, back ? GDB_BACK : GDB_FORWARD, &best);
		for (size_t i = 0; i < t->n; i++)
			if (i != best.who && was[i] != NOWHERE)
				value_run_seek(t->at[i].run, was[i]);
	}
	free(was);
	t->moved = best.who;
	t->at[best.who].told = value_run_count(t->at[best.who].run);
	*hit = best.hit;
}
