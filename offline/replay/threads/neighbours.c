// SPDX-License-Identifier: LGPL-2.1-or-later
/* neighbours.c: the other threads of a task's process. Records have one order over all threads, and
 * a system call has two places in it: where it began and where it was over. Between them its thread
 * executes nothing:
 *
 *   this task   ──r──────────r──────────[ system call ]──r────
 *   a neighbour      [ system call ]────r──[ system call  ]──
 *                 asleep             awake     asleep
 *
 * While no neighbour is awake, nothing but this task and the kernel writes to memory, and all is as
 * it would be with one thread. (A task of another process that writes into this one, as a debugger
 * does, is awake while it does.) While one is, what is read may be another one's: nothing in memory
 * is better than assumed. What neighbours have mapped is mapped here at the next record.
 *
 * Behind its last record a thread may be awake up to the end of the recording. Beside another one
 * it is not executed there: that is no part of the recording.
 *
 * A thread that has lost the processor sleeps as well, where that was recorded (SWITCH). As long as
 * no two threads are awake at once, threads.c executes them all, and none of this is needed; it
 * does so further on, as long as it can. */
#include "offline/replay/threads/neighbours.h"

#include "offline/capture/memory_file.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/records/waking.h"
#include "offline/replay/run/mappings.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/together.h"
#include "offline/replay/threads/awake.h"
#include "offline/replay/threads/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

void value_neighbours_free(struct neighbours *n)
{
	if (!n)
		return;
	free(n->awake.at);
	free(n->forced.at);
	free(n->to_file.at);
	free(n->mappings);
	free(n);
}

static bool grow(void **list, size_t *room, size_t n, size_t size)
{
	if (n < *room)
		return true;
	size_t more = *room ? 2 * *room : 64;
	void *grown = realloc(*list, more * size);
	if (!grown)
		return false;
	*list = grown;
	*room = more;
	return true;
}

static bool add_span(struct spans *spans, uint64_t from, uint64_t to)
{
	if (!grow((void **)&spans->at, &spans->room, spans->n, sizeof(*spans->at)))
		return false;
	spans->at[spans->n++] = (struct span){from, to};
	return true;
}

/* From when to when the call was made. */
static struct span span_of(const struct capture *c)
{
	return (struct span){c->entered ? c->entered : c->order, c->order};
}

static bool add_mapping(struct neighbours *n, const struct capture *c)
{
	if (c->kind != CAPTURE_KERNEL || c->map_op == MAP_NONE)
		return true;
	if (!grow((void **)&n->mappings, &n->room_mappings, n->n_mappings, sizeof(*n->mappings)))
		return false;
	struct capture *copy = &n->mappings[n->n_mappings++];
	*copy = *c;
	copy->ranges = NULL;
	copy->n_ranges = 0;
	return true;
}

static int add_neighbour(struct neighbours *n, const struct captures *captures, uint32_t task)
{
	struct captures_iter *iter;
	int err = captures_iter_new(captures, task, &iter), more = 0;
	if (err)
		return err;
	struct capture c;
	struct waking waking = {0};
	struct span span;
	bool fine = true;
	while (fine && (more = captures_next(iter, &c)) == 1) {
		fine = add_mapping(n, &c);
		if (memory_file_opened(&c) && (!n->memory_opened || c.order < n->memory_opened))
			n->memory_opened = c.order;
		if (memory_file_written(&c))
			fine &= add_span(&n->to_file, span_of(&c).from, c.order);
		if (value_waking_next(&waking, &c, &span))
			fine &= add_span(&n->awake, span.from, span.to);
	}
	captures_iter_free(iter);
	if (waking.awake)
		fine &= add_span(&n->awake, waking.since, UINT64_MAX);
	return more < 0 ? more : fine ? 0 : -ENOMEM;
}

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_order(const void *a, const void *b)
{
	const struct capture *x = a, *y = b;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void merge(struct spans *spans)
{
	size_t kept = 0;
	if (spans->n)
		qsort(spans->at, spans->n, sizeof(*spans->at), by_from);
	for (size_t i = 1; i < spans->n; i++)
		if (spans->at[i].from > spans->at[kept].to)
			spans->at[++kept] = spans->at[i];
		else if (spans->at[i].to > spans->at[kept].to)
			spans->at[kept].to = spans->at[i].to;
	spans->n = spans->n ? kept + 1 : 0;
}

static void tidy(struct neighbours *n)
{
	if (n->n_mappings)
		qsort(n->mappings, n->n_mappings, sizeof(*n->mappings), by_order);
	merge(&n->awake);
	merge(&n->forced);
	merge(&n->to_file);
}

/* Whether the system call writes into another process' memory. @opened: the task, or one that was
 * there before, has opened one's. */
static bool writes_outside(const struct capture *c, bool opened)
{
	enum { POKE_TEXT = 4, POKE_DATA = 5 };
	if (opened && memory_file_written(c))
		return true;
	if (c->kind != CAPTURE_KERNEL || c->result < 0)
		return false;
	return c->nr == SYS_process_vm_writev ||
	       (c->nr == SYS_ptrace && (c->args[0] == POKE_TEXT || c->args[0] == POKE_DATA));
}

static int find_outer(struct value_replay *replay, const struct family_task *task, size_t *room,
		      bool *opened)
{
	struct captures_iter *iter;
	struct capture c;
	int err = captures_iter_new(replay->captures, task->number, &iter), more = 0;
	if (err)
		return err;
	while (!err && (more = captures_next(iter, &c)) == 1) {
		*opened |= memory_file_opened(&c);
		if (!writes_outside(&c, *opened))
			continue;
		if (!grow((void **)&replay->outer, room, replay->n_outer, sizeof(*replay->outer)))
			err = -ENOMEM;
		else
			replay->outer[replay->n_outer++] =
				(struct outer_write){span_of(&c).from, c.order, task->pid,
						     c.nr != SYS_process_vm_writev};
	}
	captures_iter_free(iter);
	return more < 0 ? more : err;
}

int value_neighbours_outer(struct value_replay *replay)
{
	const struct families *f = &replay->families;
	bool several = false, opened = false;
	size_t room = 0;
	int err = 0;
	for (uint32_t i = 1; i < f->n; i++)
		several |= f->at[i].pid != f->at[0].pid;
	for (uint32_t i = 0; several && !err && i < f->n; i++)
		err = find_outer(replay, &f->at[i], &room, &opened);
	return err == -ENOMEM ? err : 0;
}

/* Of processes other than @pid. */
static int add_outer(const struct value_replay *replay, int32_t pid, struct neighbours **n)
{
	for (size_t i = 0; i < replay->n_outer; i++) {
		const struct outer_write *w = &replay->outer[i];
		if (w->pid == pid)
			continue;
		if ((!*n && !(*n = calloc(1, sizeof(**n)))) ||
		    !add_span(&(*n)->awake, w->from, w->to) ||
		    (w->forced && !add_span(&(*n)->forced, w->from, w->to)))
			return -ENOMEM;
	}
	return 0;
}

static bool has_captures(const struct captures *captures, uint32_t task)
{
	uint32_t n;
	const uint32_t *tasks = captures_tasks(captures, &n);

	for (uint32_t i = 0; i < n; i++)
		if (tasks[i] == task)
			return true;
	return false;
}

bool value_neighbours_lost(const struct value_replay *replay, int32_t pid)
{
	if (captures_ended(replay->captures))
		return false;
	for (uint32_t i = 0; i < replay->families.n; i++) {
		const struct family_task *task = &replay->families.at[i];
		if (task->pid == pid && !has_captures(replay->captures, task->number))
			return true;
	}
	return false;
}

int value_neighbours_new(const struct value_replay *replay, uint32_t task, struct neighbours **out)
{
	const struct family_task *self = families_find(&replay->families, task);
	uint32_t n_tasks;
	const uint32_t *tasks = captures_tasks(replay->captures, &n_tasks);
	struct neighbours *n = NULL;
	int err = 0;
	if (self && !self->alone)
		err = (n = calloc(1, sizeof(*n))) ? 0 : -ENOMEM;
	for (uint32_t i = 0; n && !err && i < n_tasks; i++) {
		const struct family_task *other = families_find(&replay->families, tasks[i]);
		if (tasks[i] != task && (!other || other->pid == self->pid))
			err = add_neighbour(n, replay->captures, tasks[i]);
	}
	if (n && !err && value_neighbours_lost(replay, self->pid) &&
	    !add_span(&n->awake, 0, UINT64_MAX))
		err = -ENOMEM;
	if (!err && self)
		err = add_outer(replay, self->pid, &n);
	if (err) {
		value_neighbours_free(n);
		return err;
	}
	if (n)
		tidy(n);
	*out = n;
	return 0;
}

static int map_as_they_did(struct value_run *run, uint64_t from, uint64_t to)
{
	const struct neighbours *n = run->neighbours;
	for (size_t i = 0; i < n->n_mappings; i++) {
		const struct capture *c = &n->mappings[i];
		if (c->order <= from || c->order > to)
			continue;
		/* What a neighbour has relocated in a library, for one, was written before. */
		if (c->map_op == MAP_PROTECTED && !c->result && !(c->map_prot & VALUE_WRITE))
			value_memory_assume_all(&run->memory);
		int err = value_run_map(run, c);
		if (err == -ENOMEM)
			return VALUE_REPLAY_NO_MEMORY;
	}
	return VALUE_REPLAY_LIMIT;
}

/* Brings the run from moment @from to @now, between two of its records. Neighbours that are
 * executed together with it (threads.c) are executed up to @now. Where others were awake, all
 * memory is assumed, and what they have mapped is mapped. */
static int meet(struct value_run *run, uint64_t first, uint64_t from, uint64_t now)
{
	bool met = value_neighbours_awake(run->neighbours, from, now);
	run->met |= met ? VALUE_MET_BEFORE : 0;
	int stop = value_threads_until(run, now);
	bool together = value_threads_together(run);
	if (stop != VALUE_REPLAY_LIMIT || !met || (together && now <= run->threads->crowded))
		return stop;
	/* What neighbours did while this task slept was executed by value_threads_until(). */
	if (!together || value_run_was_crowded(run, first))
		value_memory_assume_all(&run->memory);
	if (together)
		return stop;
	uint64_t executed = value_threads_executed(run);
	return map_as_they_did(run, from > executed ? from : executed, now);
}

int value_run_neighbours(struct value_run *run)
{
	struct neighbours *n = run->neighbours;
	/* A run that another one leads (threads.c) is brought up to date by that one. */
	if (!n || run->led || run->looked == run->next)
		return VALUE_REPLAY_LIMIT;
	uint64_t before = run->next ? run->next - 1 : 0;
	uint64_t first = run->looked == NEVER_LOOKED ? before : run->looked;
	uint64_t from = value_run_piece_begins(run, first);
	/* What was mapped before it was made its parent has mapped, and written. */
	from = from < run->born ? run->born : from;
	uint64_t now = value_run_piece_begins(run, run->next);
	run->looked = run->next;
	int stop = meet(run, first, from, now);
	if (stop != VALUE_REPLAY_LIMIT)
		return stop;
	/* What the task may not write itself is doubted until the next record by that. */
	if (value_neighbours_forced(run, from, value_run_piece_ends(run, run->next)))
		value_memory_assume_forced(&run->memory);
	bool crowded =
		value_threads_together(run)
			? value_threads_crowded(run)
			: value_neighbours_awake(n, now, value_run_piece_ends(run, run->next));
	if (value_run_ends_crowded(run, crowded)) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_LIMIT;
	}
	run->met |= crowded ? VALUE_MET_DURING : 0;
	value_memory_crowd(&run->memory, crowded);
	return VALUE_REPLAY_LIMIT;
}

bool value_run_met_until(const struct value_run *run, const struct capture *c)
{
	return run->neighbours &&
	       (!value_threads_together(run) || c->order > run->threads->crowded) &&
	       value_neighbours_awake(run->neighbours,
				      run->next ? value_run_piece_begins(run, run->next - 1) : 0,
				      c->order);
}

unsigned value_run_met(struct value_run *run)
{
	unsigned met = run->met;
	run->met = run->memory.crowded ? VALUE_MET_DURING : 0;
	return met;
}

bool value_run_when(const struct value_run *run, uint64_t *from, uint64_t *to)
{
	if (!run->neighbours)
		return false;
	*from = run->next ? value_run_piece_begins(run, run->next) : run->born;
	*to = value_run_piece_ends(run, run->next);
	return true;
}
