// SPDX-License-Identifier: LGPL-2.1-or-later
/* snapshots.c: the moments of a run that it can go back to. They are taken every so many
 * instructions; when there are SNAPSHOTS_MAX of them, every other one is given up and the distance
 * doubles, so that both memory and the way from the nearest one stay bounded. A few more are taken
 * where somebody looks around. */
#include "offline/replay/run/snapshots.h"

#include "offline/replay/run/own_code.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/together.h"

#include <stdlib.h>
#include <string.h>

enum { SNAPSHOTS_MAX = 256 };

void value_run_drop(struct value_run *run, struct run_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_others; i++)
		value_run_drop(run, &snapshot->others[i]);
	free(snapshot->others);
	value_memory_forget(&run->memory, &snapshot->memory);
	free(snapshot->calls);
	free(snapshot->signals);
}

static void *copy(const void *list, size_t size)
{
	void *out = malloc(size ? size : 1);
	if (out && size)
		memcpy(out, list, size);
	return out;
}

static void thin_out(struct value_run *run)
{
	size_t n = 0;
	for (size_t i = 0; i < run->n_snapshots; i++)
		if (i % 2)
			value_run_drop(run, &run->snapshots[i]);
		else
			run->snapshots[n++] = run->snapshots[i];
	run->n_snapshots = n;
	run->snapshot_every *= 2;
}

bool value_run_take(struct value_run *run, struct run_snapshot *out)
{
	uint64_t assumed, unknown;
	value_machine_inexact(run->machine, &assumed, &unknown);
	struct run_snapshot s = {
		.supposition = run->supposition,
		.looked = run->looked,
		.crowded = run->memory.crowded,
		.assumed = assumed,
		.unknown = unknown,
		.count = value_run_count(run),
		.state = *value_machine_state(run->machine),
		.known = *value_machine_known(run->machine),
		.next = run->next,
		.expected = run->expected,
		.heap_end = run->heap_end,
		.outside = run->outside,
		.in_library = run->in_library,
		.unseen = run->unseen,
		.import = run->import,
		.calls = copy(run->calls, run->n_calls * sizeof(*run->calls)),
		.n_calls = run->n_calls,
		.signals = copy(run->signals, run->n_signals * sizeof(*run->signals)),
		.n_signals = run->n_signals,
		.forgot_handlers = run->forgot_handlers,
		.residues = run->residues,
		.waits = run->waits,
		.unborn = run->unborn,
		.torn = run->torn,
	};
	if (!s.calls || !s.signals) {
		free(s.calls);
		free(s.signals);
		return false;
	}
	*out = s;
	return true;
}

static bool keep_others(struct value_run *run, struct run_snapshot *s)
{
	struct value_threads *t = run->threads;
	if (!value_threads_together(run))
		return true;
	s->others = calloc(t->n, sizeof(*s->others));
	s->executed = t->executed;
	s->spent = t->spent;
	for (size_t i = 1; s->others && i < t->n; i++) {
		if (!value_run_take(t->at[i], &s->others[s->n_others]))
			return false;
		s->others[s->n_others].ended = t->at[i]->ended;
		s->n_others++;
	}
	return s->others;
}

static bool take(struct value_run *run, struct run_snapshot *out)
{
	struct run_snapshot s;
	if (!value_run_take(run, &s))
		return false;
	if (!keep_others(run, &s)) {
		value_run_drop(run, &s);
		return false;
	}
	s.memory = value_memory_snapshot(&run->memory);
	*out = s;
	return true;
}

/* Instructions that the run and those that are executed with it have executed. */
static uint64_t worked(const struct value_run *run)
{
	uint64_t sum = 0;
	if (!run->threads)
		return value_run_count(run);
	for (size_t i = 0; i < run->threads->n; i++)
		sum += value_run_count(run->threads->at[i]);
	return sum;
}

/* While the run waits in a call others may execute for long: that way is long as well. */
bool value_run_is_far(const struct value_run *run)
{
	return value_run_count(run) >= run->snapshot_next ||
	       (value_threads_together(run) && !run->led && worked(run) >= run->worked_next);
}

bool value_run_keep(struct value_run *run)
{
	uint64_t count = value_run_count(run);
	run->snapshot_next = count + run->snapshot_every;
	run->worked_next = worked(run) + run->snapshot_every;
	if (run->n_snapshots && run->snapshots[run->n_snapshots - 1].count >= count)
		return true;
	if (run->n_snapshots == SNAPSHOTS_MAX)
		thin_out(run);
	if (!run->snapshots)
		run->snapshots = calloc(SNAPSHOTS_MAX, sizeof(*run->snapshots));
	if (!run->snapshots || !take(run, &run->snapshots[run->n_snapshots]))
		return false;
	run->n_snapshots++;
	return true;
}

bool value_run_keep_near(struct value_run *run)
{
	struct run_snapshot s, *oldest = &run->near[run->n_near % NEAR_SNAPSHOTS];
	if (!take(run, &s))
		return false;
	if (run->n_near >= NEAR_SNAPSHOTS)
		value_run_drop(run, oldest);
	*oldest = s;
	run->n_near++;
	return true;
}

bool value_run_put(struct value_run *run, const struct run_snapshot *s)
{
	struct open_call *calls = copy(s->calls, s->n_calls * sizeof(*calls));
	struct interrupted *signals = copy(s->signals, s->n_signals * sizeof(*signals));
	if (!calls || !signals) {
		free(calls);
		free(signals);
		return false;
	}
	free(run->calls);
	free(run->signals);
	run->calls = calls;
	run->n_calls = run->room_calls = s->n_calls;
	run->signals = signals;
	run->n_signals = s->n_signals;
	run->forgot_handlers = s->forgot_handlers;
	run->next = s->next;
	run->expected = s->expected;
	run->heap_end = s->heap_end;
	run->outside = s->outside;
	run->in_library = s->in_library;
	run->unseen = s->unseen;
	run->import = s->import;
	run->supposition = s->supposition;
	run->looked = s->looked;
	run->residues = s->residues;
	run->waits = s->waits;
	run->unborn = s->unborn;
	run->torn = s->torn;
	value_machine_supposed(run->machine);
	run->ended = 0;
	*value_machine_state(run->machine) = s->state;
	*value_machine_known(run->machine) = s->known;
	value_machine_set_count(run->machine, s->count);
	value_machine_set_inexact(run->machine, s->assumed, s->unknown);
	return true;
}

static bool put_others(struct value_run *run, const struct run_snapshot *s)
{
	struct value_threads *t = run->threads;
	bool fine = true;
	if (!t)
		return true;
	t->apart = !s->others;
	t->executed = s->executed;
	t->spent = s->spent;
	run->maps = ++t->maps;
	for (size_t i = 0; i < s->n_others; i++) {
		fine &= value_run_put(t->at[i + 1], &s->others[i]);
		t->at[i + 1]->ended = s->others[i].ended;
	}
	return fine;
}

bool value_run_go_back(struct value_run *run, const struct run_snapshot *s)
{
	if (!value_run_put(run, s) || !put_others(run, s))
		return false;
	run->noted = run->next;
	value_memory_crowd(&run->memory, s->crowded);
	value_memory_restore(&run->memory, &s->memory);
	return !value_run_code(run);
}

void value_run_snapshot_every(struct value_run *run, uint64_t instructions)
{
	run->snapshot_every = instructions ? instructions : 1;
	run->snapshot_next = value_machine_count(run->machine);
}
