// SPDX-License-Identifier: LGPL-2.1-or-later
/* awake.c: see awake.h. */
#include "offline/replay/threads/awake.h"

#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"

static bool has_any(const struct spans *spans, uint64_t from, uint64_t to)
{
	size_t low = 0, high = spans->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (spans->at[mid].to < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < spans->n && spans->at[low].from <= to;
}

bool value_neighbours_awake(const struct neighbours *n, uint64_t from, uint64_t to)
{
	return has_any(&n->awake, from, to);
}

bool value_neighbours_forced(const struct value_run *run, uint64_t from, uint64_t to)
{
	const struct neighbours *n = run->neighbours;
	uint64_t opened = run->memory_opened;
	if (n->memory_opened && (!opened || n->memory_opened < opened))
		opened = n->memory_opened;
	return has_any(&n->forced, from, to) ||
	       (opened && opened <= to && has_any(&n->to_file, from > opened ? from : opened, to));
}

uint64_t value_run_piece_begins(const struct value_run *run, uint64_t i)
{
	return i ? kept_records_at(run->records, i - 1)->order : 0;
}

uint64_t value_run_piece_ends(const struct value_run *run, uint64_t i)
{
	const struct capture *c = value_run_record_at(run, i);
	if (!c)
		return UINT64_MAX;
	bool lasts = c->kind == CAPTURE_KERNEL || c->kind == CAPTURE_SWITCH;
	return lasts && c->entered ? c->entered : c->order;
}

bool value_run_was_crowded(const struct value_run *run, uint64_t first)
{
	bool crowded = false;
	for (uint64_t i = first; !crowded && i < run->next; i++)
		crowded = value_neighbours_awake(run->neighbours, value_run_piece_begins(run, i),
						 value_run_piece_ends(run, i));
	return crowded;
}

bool value_run_ends_crowded(const struct value_run *run, bool crowded)
{
	return crowded && run->next >= run->records->n;
}

bool value_run_was_alone(const struct value_run *run, uint64_t from, uint64_t to)
{
	return !run->neighbours || (from && !value_neighbours_awake(run->neighbours, from, to));
}
