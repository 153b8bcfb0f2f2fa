// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_clocks.c: see capture_clocks.h. */
#include "user/values/write/capture_clocks.h"

#include "user/values/write/clock_notes.h"

#include <errno.h>

/* Entry number @index, as a record of its own. */
static void add_clock(struct capture_tasks *all, const struct clock_calls *calls,
		      struct capture_task *t, const struct clock_entry *entry, uint64_t index,
		      uint64_t order, uint64_t time_ns)
{
	struct capture_range ranges[2];
	struct capture c = {.kind = CAPTURE_KERNEL,
			    .place = CAPTURE_NONE,
			    .map_file = CAPTURE_NONE,
			    .order = order,
			    .time_ns = time_ns,
			    .ip = calls->image};
	bool broken;

	if (clock_record(entry, index, &t->asked, &c, ranges, &broken))
		capture_tasks_add(all, t, &c);
	else if (broken)
		capture_tasks_add_lost(all, t, 1, order, time_ns);
}

void capture_clocks_take(struct capture_tasks *all, const struct clock_calls *calls,
			 struct capture_task *t, const struct capture_clocks *clocks, size_t len)
{
	size_t whole = (len - offsetof(struct capture_clocks, entries)) / sizeof(*clocks->entries);
	uint32_t n = clocks->n < whole ? clocks->n : (uint32_t)whole;

	capture_tasks_number(all, t, clocks->number, clocks->order, clocks->time_ns);
	if (clocks->lost)
		capture_tasks_add_lost(all, t, 1, clocks->order, clocks->time_ns);
	for (uint32_t i = 0; !clocks->lost && i < n; i++)
		add_clock(all, calls, t, &clocks->entries[i], clocks->first + i, clocks->order + i,
			  clocks->time_ns);
	t->clock_next = clocks->first + n;
}

void capture_clocks_take_noted(struct capture_tasks *all, const struct clock_calls *calls,
			       struct capture_task *t, const struct clocks_noted *noted)
{
	const uint64_t until = noted->until;
	uint64_t order = noted->order;

	if (!calls->area || (int64_t)(until - t->clock_next) <= 0)
		return;
	if (!t->clocks && !(t->clocks = clock_notes_new())) {
		capture_tasks_fail(all, -ENOMEM);
		return;
	}
	clock_notes_of(t->clocks, noted->pid, calls->area + CLOCK_SLOTS, noted->owner);
	for (; t->clock_next != until; t->clock_next++) {
		const struct clock_entry *e = clock_notes_at(t->clocks, t->clock_next);

		if (!e || until - t->clock_next > CLOCK_ENTRIES) {
			t->clock_next = until;
			capture_tasks_add_lost(all, t, 1, order, noted->time_ns);
			return;
		}
		add_clock(all, calls, t, e, t->clock_next, order++, noted->time_ns);
	}
}
