// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay_open.c: how a run begins: with the threads that are executed with it, from what was
 * captured at the start of its task, or where the task that forked it was. */
#include "offline/replay/libraries/library_writes.h"
#include "offline/replay/records/calls_told.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/snapshots.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/suppose.h"
#include "offline/replay/run_make.h"
#include "offline/replay/threads/neighbours.h"
#include "offline/replay/threads_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the recording --------------------------------------------------------------------------- */

/* What a task does that has captures and is told of nowhere else may be done in any process. */
static void look_for_lost(struct value_replay *replay)
{
	uint32_t n;
	const uint32_t *tasks = captures_tasks(replay->captures, &n);
	for (uint32_t i = 0; i < n; i++)
		if (!families_find(&replay->families, tasks[i]))
			families_lack(&replay->families);
}

int value_replay_open(const char *dir, struct value_replay **out, struct pugmark_diag *diag)
{
	struct value_replay *replay = calloc(1, sizeof(*replay));
	if (!replay)
		return pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	int err = captures_open(dir, &replay->captures, diag);
	err = err ? err : imports_open(NULL, &replay->imports, diag);
	err = err ? err : families_read(dir, &replay->families, diag);
	if (!err)
		look_for_lost(replay);
	if (!err && value_neighbours_outer(replay))
		err = pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	if (err) {
		value_replay_free(replay);
		return err;
	}
	replay->whole = captures_whole(replay->captures);
	replay->places = captures_places(replay->captures, &replay->n_places);
	*out = replay;
	return 0;
}

void value_replay_free(struct value_replay *replay)
{
	if (!replay)
		return;
	imports_free(replay->imports);
	free(replay->outer);
	families_deinit(&replay->families);
	captures_free(replay->captures);
	free(replay);
}

const struct captures *value_replay_captures(const struct value_replay *replay)
{
	return replay->captures;
}

static int run_new(struct value_replay *replay, uint32_t task, unsigned generations,
		   struct value_run **out, struct pugmark_diag *diag);

/* A child begins as its parent was behind the fork, but for the call's result. Each of its
 * @generations so far has a run of its own meanwhile. */
static int start_as_parent(struct value_run *run, const struct family_task *child,
			   unsigned generations, struct pugmark_diag *diag)
{
	enum { GENERATIONS = 64 };
	if (generations == GENERATIONS)
		return pugmark_diag_set(diag, -ENODATA, "captures", PUGMARK_NO_OFFSET,
					"more than %d processes have forked one another up to "
					"there: its values are not known",
					GENERATIONS);
	struct value_run *parent = NULL;
	int err = run_new(run->replay, child->parent, generations + 1, &parent, diag);
	if (err)
		return err;
	uint64_t i = 0;
	const struct capture *c;
	while ((c = value_run_record_at(parent, i)) &&
	       !(call_told_forks(c) && c->result == child->tid))
		i++;
	value_run_snapshot_every(parent, UINT64_MAX / 2);
	parent->stop_behind = i + 1;
	enum value_replay_stop stop =
		c ? value_run_forward(parent, UINT64_MAX / 4, NULL) : VALUE_REPLAY_GAP;
	/* A snapshot of that many instructions is there already where none was counted since: while
	 * it was in libraries. */
	if (stop != VALUE_REPLAY_LIMIT || !value_run_keep_near(parent)) {
		value_run_free(parent);
		return pugmark_diag_set(
			diag, -ENODATA, "captures", PUGMARK_NO_OFFSET,
			"the values of the task that forked it, %u, are not known up "
			"to there",
			child->parent);
	}
	struct run_snapshot begin = parent->near[(parent->n_near - 1) % NEAR_SNAPSHOTS];
	const struct capture *first = value_run_record_at(run, 0);
	bool own = call_told_forks(first) && !first->result;
	begin.count = begin.assumed = begin.unknown = 0;
	begin.supposition = (struct supposition){.holds = begin.supposition.holds};
	begin.next = own ? 1 : 0;
	begin.expected = 0;
	begin.looked = NEVER_LOOKED;
	struct capture call = *kept_records_at(parent->records, i);
	bool fine = value_run_go_back(run, &begin);
	run->memory.n_shared = parent->memory.n_shared;
	run->xstate = parent->xstate;
	value_run_free(parent);
	run->born = call.entered ? call.entered : 0;
	const struct family_task *maker = families_find(&run->replay->families, child->parent);
	run->forked = maker && maker->pid != child->pid ? call.order : 0;
	value_set_gpr(run->machine, VALUE_RAX, 0, VALUE_EXACT);
	fine = fine && !value_run_take_thread(run, &run->memory, &call);
	return fine ? 0
		    : pugmark_diag_set(diag, -ENOMEM, "captures", PUGMARK_NO_OFFSET,
				       "out of memory");
}

/* Which tasks are of its process cannot be told. */
static bool is_lost(const struct value_replay *replay, const struct family_task *self)
{
	uint32_t n_tasks;
	captures_tasks(replay->captures, &n_tasks);
	return !self && n_tasks > 1;
}

static int run_new(struct value_replay *replay, uint32_t task, unsigned generations,
		   struct value_run **out, struct pugmark_diag *diag)
{
	const struct family_task *self = families_find(&replay->families, task);
	/* A store of another thread is in nobody's captures: a byte would be called exact that is
	 * not. */
	if (is_lost(replay, self))
		return pugmark_diag_set(diag, -ENODATA, "captures", PUGMARK_NO_OFFSET,
					"the process of task %u is not told: others may write to "
					"its memory, so none of its values is certain",
					task);
	struct value_run *run = NULL;
	int err = value_run_make(replay, task, &run);
	err = err ? err : value_neighbours_new(replay, task, &run->neighbours);
	err = err ? err : value_threads_new(run, task);
	if (err) {
		value_run_free(run);
		return pugmark_diag_set(diag, err, "captures", PUGMARK_NO_OFFSET,
					"cannot be read: %s", strerror(-err));
	}
	if (run->threads) {
		*out = run;
		return 0;
	}
	const struct capture *first = value_run_record_at(run, 0);
	bool begins = first && first->kind == CAPTURE_START;
	if (!begins && replay->whole && self && self->parent) {
		err = start_as_parent(run, self, generations, diag);
	} else {
		err = value_run_start(run, diag);
	}
	if (err) {
		value_run_free(run);
		return err;
	}
	*out = run;
	return 0;
}

int value_run_new(struct value_replay *replay, uint32_t task, struct value_run **out,
		  struct pugmark_diag *diag)
{
	return run_new(replay, task, 0, out, diag);
}

/* --- facts ----------------------------------------------------------------------------------- */

struct value_machine *value_run_machine(struct value_run *run)
{
	return run->machine;
}

const struct value_gap *value_run_gap(const struct value_run *run)
{
	return &run->gap;
}

uint64_t value_run_blind(const struct value_run *run, const struct value_gap **first)
{
	*first = &run->blind_at;
	return run->blind;
}

bool value_run_forked(const struct value_run *run, uint64_t *order)
{
	*order = run->forked;
	return run->forked;
}

void value_run_steps(struct value_run *run, value_step_fn *fn, void *ctx)
{
	run->step = fn;
	run->step_ctx = ctx;
}

void value_run_crossings(struct value_run *run, value_crossing_fn *fn, void *ctx)
{
	run->crossing = fn;
	run->crossing_ctx = ctx;
}

int value_run_library_writes(struct value_run *run, value_wrote_fn *fn, void *ctx)
{
	return value_writes_ask(&run->writes, fn, ctx);
}
