// SPDX-License-Identifier: LGPL-2.1-or-later
/* seek.c: a run at any instruction, before or after where it is: back to the nearest snapshot, and
 * forward from there. */
#include "offline/replay/replay_impl.h"

enum value_replay_stop value_run_seek(struct value_run *run, uint64_t count)
{
	uint64_t now = value_run_count(run);
	size_t best = run->n_snapshots;
	while (best && run->snapshots[best - 1].count > count)
		best--;
	if (count < now && !best)
		return VALUE_REPLAY_GAP; /* the first snapshot is that of the start */
	bool nearer = best && run->snapshots[best - 1].count > now;
	if ((count < now || nearer) && !value_run_go_back(run, &run->snapshots[best - 1]))
		return VALUE_REPLAY_NO_MEMORY;
	return value_run_forward(run, count, NULL);
}
