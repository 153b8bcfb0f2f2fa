// SPDX-License-Identifier: LGPL-2.1-or-later
/* threads.c: the threads of a process executed as one, while no two of them were awake at once
 * (neighbours.c says what that is). Each has its own run; the memory goes from one to the next as
 * the processor did, in the order of the records:
 *
 *   thread 1  ──piece──[ system call ]──piece──SWITCH- - - - - - - -──piece──
 *   thread 2           ──piece──SWITCH - - - -       ──piece──[ system call
 *   memory of 1        2                1            2         1
 *
 * A piece is what a thread executes between two of its records. A system call takes effect when it
 * is over, so its thread waits in it meanwhile. The run that was asked for leads: it has the others
 * executed up to where it is, before it goes on.
 *
 * Where two were awake at once, what either reads may be the other's: nothing in memory is better
 * than assumed meanwhile, and behind it. But they are executed as well, in the order in which their
 * pieces began, as that is what is likely: so the memory that each finds is one that the program
 * may have had. Where one of the others cannot be executed, they part: the run that was asked for
 * goes on alone. */
#include "offline/replay/threads/threads.h"

#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/own_code.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/together.h"
#include "offline/replay/threads/awake.h"

/* --- when ------------------------------------------------------------------------------------ */

static const struct capture *record_at(const struct value_run *m, uint64_t i)
{
	return i < m->records->n ? kept_records_at(m->records, i) : NULL;
}

/* When in the order a thread goes on next; UINT64_MAX: it does not. */
static uint64_t moment_of(const struct value_run *m)
{
	const struct capture *c = record_at(m, m->unborn ? 0 : m->next);
	if (m->ended || !c)
		return UINT64_MAX;
	if (m->waits || m->unborn)
		return c->order;
	return m->next ? kept_records_at(m->records, m->next - 1)->order : m->born;
}

/* When the piece that it executes next is over. */
uint64_t value_threads_end_of_piece(const struct value_run *m)
{
	const struct capture *c = record_at(m, m->next);
	bool lasts = c && (c->kind == CAPTURE_KERNEL || c->kind == CAPTURE_SWITCH);
	if (!c)
		return UINT64_MAX;
	return m->waits ? 0 : lasts && c->entered ? c->entered : c->order;
}

/* --- one after the other --------------------------------------------------------------------- */

/* Threads that compute beside each other for long are executed no more: nothing of what they do
 * there is exact, and each would be executed once for each other. In instructions, of which a piece
 * that has none, as in a library, counts for some. */
enum { CROWDED_MAX = 1 << 26, CROWDED_PIECE = 1 << 10 };

bool value_threads_crowded(const struct value_run *m)
{
	uint64_t to = value_threads_end_of_piece(m);
	return !m->waits && to > m->threads->crowded && !value_run_was_alone(m, moment_of(m), to);
}

int value_threads_hand_over(struct value_threads *t, struct value_run *to)
{
	if (t->holder == to)
		return 0;
	if (t->holder->memory.crowded)
		value_memory_assume_all(&t->holder->memory);
	value_memory_move(&to->memory, &t->holder->memory);
	to->heap_end = t->holder->heap_end;
	t->holder = to;
	if (to->maps == t->maps)
		return 0;
	to->maps = t->maps;
	return value_run_code(to);
}

/* What a thread writes that has gone an uncertain way, or is executed by nobody, is not known. */
static bool is_uncertain(const struct value_run *m)
{
	return m->supposition.holds || (m->outside && m->unseen);
}

int value_threads_step(struct value_threads *t, struct value_run *m)
{
	uint64_t next = m->next;
	uint64_t count = value_run_count(m);
	bool crowded = value_threads_crowded(m);
	int stop;
	if (value_run_ends_crowded(m, crowded)) {
		value_memory_assume_all(&t->holder->memory);
		m->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_LIMIT;
	}
	if (value_threads_hand_over(t, m))
		return VALUE_REPLAY_NO_MEMORY;
	value_memory_crowd(&m->memory, crowded);
	if (m->waits) {
		m->waits = false;
		m->is_over = true;
		stop = t->does->over(m);
		m->is_over = false;
	} else {
		m->stop_behind = m->next + 1;
		stop = t->does->go_on(m);
	}
	value_memory_crowd(&m->memory, false);
	t->spent += crowded ? value_run_count(m) - count + CROWDED_PIECE : 0;
	if (crowded || is_uncertain(m))
		value_memory_assume_all(&m->memory);
	if (stop == VALUE_REPLAY_LIMIT && m->next == next)
		return VALUE_REPLAY_GAP;
	return stop == VALUE_REPLAY_WAITS || stop == VALUE_REPLAY_END ? VALUE_REPLAY_LIMIT : stop;
}

/* The one that goes on next, no later than @moment; NULL: none. */
struct value_run *value_threads_next(struct value_threads *t, size_t first, uint64_t moment)
{
	struct value_run *next = NULL;
	for (size_t i = first; i < t->n; i++) {
		uint64_t at = moment_of(t->at[i]);
		if (at <= moment && at != UINT64_MAX && (!next || at < moment_of(next)))
			next = t->at[i];
	}
	return next;
}

bool value_threads_may_go_on(const struct value_threads *t, const struct value_run *m)
{
	return !m->unborn && t->spent <= CROWDED_MAX && value_threads_end_of_piece(m) <= t->clear;
}

int value_threads_until(struct value_run *run, uint64_t moment)
{
	struct value_threads *t = run->threads;
	struct value_run *next;
	bool parts = false;
	if (!value_threads_together(run))
		return VALUE_REPLAY_LIMIT;
	while (!parts && (next = value_threads_next(t, 1, moment))) {
		uint64_t at = moment_of(next);
		int stop = value_threads_may_go_on(t, next) ? value_threads_step(t, next)
							    : VALUE_REPLAY_GAP;
		if (stop == VALUE_REPLAY_NO_MEMORY)
			return stop;
		parts = stop != VALUE_REPLAY_LIMIT;
		t->executed = at;
	}
	if (value_threads_hand_over(t, run))
		return VALUE_REPLAY_NO_MEMORY;
	if (parts || value_threads_end_of_piece(run) > t->clear)
		value_threads_part(run);
	return VALUE_REPLAY_LIMIT;
}

/* The threads that the call makes begin where it was made. */
static bool give_birth(struct value_threads *t, struct value_run *maker, const struct capture *c)
{
	bool fine = true;
	for (size_t i = 0; i < t->n && t->does->makes(c); i++)
		if (t->at[i]->unborn && t->tids[i] == c->result)
			fine &= t->does->begin(t->at[i], maker, c);
	return fine;
}

int value_threads_call(struct value_run *run, const struct capture *c)
{
	if (!run->threads)
		return VALUE_REPLAY_LIMIT;
	if (run->stop_waiting && !run->led && c->order > run->stop_waiting &&
	    value_threads_together(run))
		return VALUE_REPLAY_WAITS;
	if (!give_birth(run->threads, run, c))
		return VALUE_REPLAY_NO_MEMORY;
	if (!run->led)
		return value_threads_until(run, c->order);
	if (run->is_over)
		return VALUE_REPLAY_LIMIT;
	run->waits = true;
	return VALUE_REPLAY_WAITS;
}
