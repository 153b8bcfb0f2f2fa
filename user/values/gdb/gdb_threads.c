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
 * that gdb has named. The searches take turns, the one that has come least far in the order first,
 * so that none goes far beyond the hit. The others are then where they were, or at the new moment,
 * when gdb asks for them: no hit of theirs is passed over. */
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
	if (err) {
		gdb_threads_deinit(t);
		return err;
	}
	self->told = 0;
	return 0;
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

/* False: memory is out. A thread that has no start has no run. */
static bool make_run(struct gdb_threads *t, struct gdb_thread *thread)
{
	struct pugmark_diag diag;
	int err = thread->tried ? 0 : value_run_new(t->replay, thread->task, &thread->run, &diag);
	thread->tried = err != -ENOMEM;
	if (err)
		thread->run = NULL;
	return err != -ENOMEM;
}

/* The thread's run where it stands at the moment @now; NULL: it has none, or t->failed. */
static struct value_run *run_at(struct gdb_threads *t, struct gdb_thread *thread, struct moment now)
{
	bool fine = make_run(t, thread);
	struct value_run *run = thread->run;
	if (fine && run && value_run_count(run) != thread->stands)
		fine = value_run_seek(run, thread->stands) != VALUE_REPLAY_NO_MEMORY;
	if (fine && run) {
		struct moment own = moment_of(run);
		if (own.to < now.from || own.from > now.to)
			fine = value_run_seek_moment(run, now.from, now.to, own.from > now.to) !=
			       VALUE_REPLAY_NO_MEMORY;
		thread->stands = value_run_count(run);
	}
	t->failed |= !fine;
	return fine ? run : NULL;
}

struct value_run *gdb_threads_run(struct gdb_threads *t, struct gdb_thread *thread)
{
	const struct gdb_thread *moved = &t->at[t->moved];
	return thread == moved ? thread->run : run_at(t, thread, moment_of(moved->run));
}

/* --- moves ----------------------------------------------------------------------------------- */

static bool is_hit(const struct gdb_search *s)
{
	return s->hit.why != GDB_HIT_BEGIN && s->hit.why != GDB_HIT_END;
}

/* One instruction of a thread, as a search that is over. */
static void step_one(struct gdb_threads *t, struct gdb_thread *thread, bool back,
		     struct gdb_search *s)
{
	struct gdb_history *h = &t->history;
	*s = (struct gdb_search){.back = back, .over = true};
	if (back)
		gdb_history_step_back(h, &s->hit);
	else
		gdb_history_step(h, &s->hit);
	s->at = s->hit.count;
	struct moment now = moment_of(thread->run);
	s->begins = now.from;
	s->ends = now.to;
}

/* Whether @a is before @b in the direction of the search. */
static bool is_nearer(const struct gdb_search *a, const struct gdb_search *b)
{
	return a->back ? a->ends > b->ends : a->begins < b->begins;
}

/* What counts of the searches that are over, or, if @open, the one that has come least far of those
 * that are not. The one of @named is first, and counts unless another one is nearer. NOWHERE: none.
 */
static size_t nearest(const struct gdb_threads *t, const struct gdb_search *s, size_t named,
		      bool open)
{
	size_t best = NOWHERE;
	for (size_t k = 0; k < t->n; k++) {
		size_t i = !k ? named : k <= named ? k - 1 : k;
		bool wanted = t->at[i].searched && (open ? !s[i].over : s[i].over && is_hit(&s[i]));
		if (wanted && (best == NOWHERE || is_nearer(&s[i], &s[best])))
			best = i;
	}
	return best;
}

/* Where nothing was found, the one that has come furthest. */
static size_t furthest(const struct gdb_threads *t, const struct gdb_search *s, size_t named)
{
	size_t best = named;
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].searched && is_nearer(&s[best], &s[i]))
			best = i;
	return best;
}

/* All searches go on together, the one that is least far first, until none of them can find
 * anything nearer than what was found, or one fails. */
static size_t search_all(struct gdb_threads *t, struct gdb_search *s, size_t named)
{
	for (size_t next = named;;) {
		if (s[next].hit.why == GDB_HIT_FAILED)
			return next;
		size_t found = nearest(t, s, named, false);
		next = nearest(t, s, named, true);
		if (next == NOWHERE)
			return found != NOWHERE ? found : furthest(t, s, named);
		if (found != NOWHERE && !is_nearer(&s[next], &s[found]) &&
		    (next != named || is_nearer(&s[found], &s[next])))
			return found;
		t->history.run = t->at[next].run;
		gdb_search_go_on(&t->history, &s[next]);
	}
}

/* Another thread can have come to something only if a record of the one that steps was passed. */
static bool others_matter(const struct gdb_threads *t, enum gdb_move move, struct moment before,
			  const struct gdb_search *own)
{
	bool steps = move == GDB_STEP || move == GDB_STEP_BACK;
	return steps ? t->history.n_watches && before.from != own->begins : true;
}

/* The other threads begin where they are at the moment @before. */
static void begin_others(struct gdb_threads *t, struct gdb_search *s, size_t named,
			 struct moment before)
{
	for (size_t i = 0; i < t->n; i++) {
		struct gdb_thread *other = &t->at[i];
		if (i == named || !run_at(t, other, before))
			continue;
		t->history.run = other->run;
		other->searched = true;
		gdb_search_begin(&t->history, &s[i], s[named].back, other->stands != other->told);
	}
}

static void move_all(struct gdb_threads *t, struct gdb_thread *thread, enum gdb_move move,
		     bool alone, struct gdb_search *s)
{
	bool back = move == GDB_BACK || move == GDB_STEP_BACK;
	size_t named = thread - t->at;
	struct moment before = moment_of(thread->run);
	for (size_t i = 0; i < t->n; i++)
		t->at[i].searched = i == named;
	t->history.run = thread->run;
	if (move == GDB_STEP || move == GDB_STEP_BACK)
		step_one(t, thread, back, &s[named]);
	else
		gdb_search_begin(&t->history, &s[named], back, thread->stands != thread->told);
	if (!alone && others_matter(t, move, before, &s[named]))
		begin_others(t, s, named, before);
	if (t->failed)
		s[named].hit.why = GDB_HIT_FAILED;
	t->moved = search_all(t, s, named);
	struct gdb_thread *moved = &t->at[t->moved];
	moved->stands = moved->told = s[t->moved].at;
}

void gdb_threads_move(struct gdb_threads *t, struct gdb_thread *thread, enum gdb_move move,
		      bool alone, struct gdb_hit *hit)
{
	bool back = move == GDB_BACK || move == GDB_STEP_BACK;
	struct gdb_search *s = calloc(t->n, sizeof(*s));
	*hit = (struct gdb_hit){.why = back ? GDB_HIT_BEGIN : GDB_HIT_END};
	t->failed = false;
	if (!s || !gdb_threads_run(t, thread)) {
		hit->why = !s || t->failed ? GDB_HIT_FAILED : hit->why;
		free(s);
		return;
	}
	move_all(t, thread, move, alone, s);
	*hit = s[t->moved].hit;
	free(s);
}
