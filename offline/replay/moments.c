// SPDX-License-Identifier: LGPL-2.1-or-later
/* moments.c: a run at a moment of the order over all tasks. That order is known of records alone,
 * so the way to a moment leads to a record, and which one is known before anything is executed:
 *
 *   records        0        1                 2          3
 *   pieces     0   |   1    |        2        |     3    |   4
 *   executed    ...........reached[1]      reached[2] .............
 *
 * How many instructions were executed before each record is noted on the way (reached.c): a record
 * that was met once is reached by the count, another one by going on from the last snapshot before
 * it. */
#include "offline/replay/lead/reached.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/records/waking.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/snapshots.h"
#include "offline/replay/threads/awake.h"
#include "offline/replay/threads/threads.h"

/* The first piece that is not over before the moment @from. */
static uint64_t piece_at(const struct value_run *run, uint64_t from)
{
	uint64_t low = 0, high = run->records->n;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (value_run_piece_ends(run, middle) < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last one that has begun by the moment @to. */
static uint64_t piece_begun(struct value_run *run, uint64_t to)
{
	uint64_t low = 0, high = run->records->n;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (kept_records_at(run->records, middle)->order <= to)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct run_snapshot *last_with(const struct value_run *run, uint64_t piece)
{
	const struct run_snapshot *best = NULL;
	for (size_t i = 0; i < run->n_snapshots && run->snapshots[i].next <= piece; i++)
		best = &run->snapshots[i];
	return best;
}

/* Out of the midst of a call, back to the place @count before it. */
static enum value_replay_stop leave_call(struct value_run *run, uint64_t count)
{
	const struct run_snapshot *best = last_with(run, run->next ? run->next - 1 : 0);
	while (best && best > run->snapshots && best->count > count)
		best--;
	if (!best || best->count > count || !value_run_go_back(run, best))
		return VALUE_REPLAY_NO_MEMORY;
	return value_run_seek(run, count);
}

/* Goes on from the last snapshot before the record that begins that piece, until that is taken.
 * VALUE_REPLAY_WAITS: the run waits for it in a call that is over behind the moment @to. */
static int go_behind(struct value_run *run, uint64_t piece, uint64_t to)
{
	const struct run_snapshot *best = last_with(run, piece);
	bool better = best && (run->next > piece || best->count > value_run_count(run));
	if (better && !value_run_go_back(run, best))
		return VALUE_REPLAY_NO_MEMORY;
	run->stop_behind = piece;
	run->stop_waiting = to ? to : 1;
	int stop = (int)value_run_forward(run, UINT64_MAX / 4, NULL);
	run->stop_behind = run->stop_waiting = 0;
	return stop;
}

static bool when(const struct value_run *run, struct span *at)
{
	return value_run_when(run, &at->from, &at->to);
}

/* To the first place of that piece, or of the first one behind it that has any. A record at a place
 * is taken when that is left: then the piece begins one instruction later. */
static int go_to_piece(struct value_run *run, uint64_t piece, struct span now)
{
	struct span at;
	uint64_t reached = run->reached[piece];
	int stop = reached != UINT64_MAX ? (int)value_run_seek(run, reached)
					 : go_behind(run, piece, UINT64_MAX);
	if (stop == VALUE_REPLAY_LIMIT)
		stop = value_run_forward(run, value_run_count(run), NULL);
	while (stop == VALUE_REPLAY_LIMIT && when(run, &at) && at.to < now.from)
		stop = value_run_seek(run, value_run_count(run) + 1);
	return stop;
}

/* To the last place before that piece. In a call that other threads execute in meanwhile it is the
 * place before that call, for which they need not be executed. */
static int go_before_piece(struct value_run *run, uint64_t piece, struct span now)
{
	struct span at;
	if (run->reached[piece] == UINT64_MAX) {
		int stop = go_behind(run, piece, now.to);
		if (stop == VALUE_REPLAY_NO_MEMORY)
			return stop;
		uint64_t reached = value_run_count(run);
		if (run->reached[piece] == UINT64_MAX)
			run->reached[piece] = reached;
		if (stop == VALUE_REPLAY_WAITS &&
		    leave_call(run, reached ? reached - 1 : 0) != VALUE_REPLAY_LIMIT)
			return VALUE_REPLAY_NO_MEMORY;
	}
	uint64_t count = run->reached[piece];
	bool in_call = kept_records_at(run->records, piece - 1)->kind == CAPTURE_KERNEL;
	int stop = value_run_seek(run, in_call && count ? count - 1 : count);
	while (stop != VALUE_REPLAY_NO_MEMORY && value_run_count(run) && when(run, &at) &&
	       at.from > now.to)
		stop = value_run_seek(run, value_run_count(run) - 1);
	return stop;
}

enum value_replay_stop value_run_seek_moment(struct value_run *run, uint64_t from, uint64_t to,
					     bool back)
{
	struct span now = {from, to};
	if (!run->neighbours)
		return VALUE_REPLAY_LIMIT;
	if (!value_run_begin_noting(run))
		return VALUE_REPLAY_NO_MEMORY;
	uint64_t n = run->records->n, piece = back ? piece_begun(run, to) + 1 : piece_at(run, from);
	piece = piece < n ? piece : n;
	bool waits = piece && kept_records_at(run->records, piece - 1)->order > to;
	int stop = waits ? go_before_piece(run, piece, now) : go_to_piece(run, piece, now);
	return stop == VALUE_REPLAY_WAITS ? VALUE_REPLAY_GAP : (enum value_replay_stop)stop;
}
