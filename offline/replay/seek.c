// SPDX-License-Identifier: LGPL-2.1-or-later
/* seek.c: a run at any instruction, before or after where it is: back to the nearest snapshot, and
 * forward from there. Whoever goes to a place goes to those just before it next (a debugger that
 * steps back does), so a long way forward leaves a snapshot NEAR instructions before its end. */
#include "offline/replay/run/run.h"
#include "offline/replay/run/snapshots.h"

#include <errno.h>

enum { NEAR = 100000 };

/* The last snapshot at or before @count; NULL: none. */
static const struct run_snapshot *last_before(const struct value_run *run, uint64_t count)
{
	size_t n = run->n_snapshots;
	while (n && run->snapshots[n - 1].count > count)
		n--;
	const struct run_snapshot *best = n ? &run->snapshots[n - 1] : NULL;
	for (size_t i = 0; best && i < run->n_near && i < NEAR_SNAPSHOTS; i++)
		if (run->near[i].count <= count && run->near[i].count > best->count)
			best = &run->near[i];
	return best;
}

uint64_t value_run_snapshot_before(const struct value_run *run, uint64_t count)
{
	const struct run_snapshot *s = count ? last_before(run, count - 1) : NULL;
	return s ? s->count : 0;
}

enum value_replay_stop value_run_seek(struct value_run *run, uint64_t count)
{
	uint64_t now = value_run_count(run);
	const struct run_snapshot *best = last_before(run, count);
	if (count < now && !best)
		return VALUE_REPLAY_GAP; /* the first snapshot is that of the start */
	if ((count < now || (best && best->count > now)) && !value_run_go_back(run, best))
		return VALUE_REPLAY_NO_MEMORY;
	if (count - value_run_count(run) > 2 * NEAR && count < UINT64_MAX / 2) {
		enum value_replay_stop stop = value_run_forward(run, count - NEAR, NULL);
		if (stop != VALUE_REPLAY_LIMIT)
			return stop;
		if (!value_run_keep_near(run))
			return VALUE_REPLAY_NO_MEMORY;
	}
	return value_run_forward(run, count, NULL);
}

int value_run_go(struct value_run *run, uint64_t count)
{
	uint64_t now = value_run_count(run);
	enum value_replay_stop stop = count == now  ? VALUE_REPLAY_LIMIT
				      : count < now ? value_run_seek(run, count)
						    : value_run_forward(run, count, NULL);

	if (stop == VALUE_REPLAY_NO_MEMORY)
		return -ENOMEM;
	/* The place may be the last one before a gap or the end. */
	return value_run_count(run) == count ? 0 : -EIO;
}
