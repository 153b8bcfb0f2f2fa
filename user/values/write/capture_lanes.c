// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_lanes.c: see capture_lanes.h. */
#include "user/values/write/capture_lanes.h"

#include "offline/capture/call_area.h"
#include "user/values/write/capture_clocks.h"

/* A call that the task has noted itself. */
static void add_call(const struct capture_lanes *lanes, struct capture_tasks *all,
		     struct capture_task *t, pid_t pid, struct capture *c)
{
	if (c->time_ns < t->last_ns)
		c->time_ns = t->last_ns;
	opened_files_note(lanes->opened, pid, c);
	capture_tasks_add(all, t, c);
}

/* What is noted in the lane before number @until. */
static void take_lane(const struct capture_lanes *lanes, struct capture_tasks *all, uint32_t lane,
		      uint64_t until, int told)
{
	struct capture c;
	struct capture_range range;
	enum call_notes_next next;
	uint64_t clocks;
	uint32_t number;
	pid_t pid;

	if (!call_notes_task(lanes->notes, lane, &number, &pid))
		return;
	struct capture_task *t = capture_tasks_of(all, number);
	if (!t)
		return;
	/* Read once: the process may write to it as often as it likes. */
	uint64_t lost = call_notes_lost(lanes->notes, lane);
	uint64_t owner = call_notes_owner(lanes->notes, lane);
	if (lost)
		capture_tasks_add_lost(all, t, lost, 0, t->last_ns);
	while ((next = call_notes_next(lanes->notes, lane, until, told, &c, &range, &clocks))) {
		if (next == CALL_NOTES_RECORD) {
			const struct clocks_noted noted = {pid, owner, clocks, t->last_order + 1,
							   c.time_ns};

			capture_clocks_take_noted(all, lanes->clocks, t, &noted);
			add_call(lanes, all, t, pid, &c);
		} else {
			capture_tasks_add_lost(all, t, c.lost, 0, t->last_ns);
		}
	}
}

void capture_lanes_take_note(const struct capture_lanes *lanes, struct capture_tasks *all,
			     struct capture_task *t, const struct capture_lane *l)
{
	const struct clocks_noted noted = {(pid_t)l->pid, l->owner, l->clocks, l->order,
					   l->time_ns};

	capture_tasks_number(all, t, l->number, 0, t->last_ns);
	if (!lanes->notes || !lanes->patches || l->lane >= CALL_LANES ||
	    (l->its_owner && l->its_owner != l->owner))
		return;
	if (l->shared)
		call_notes_close_lane(lanes->notes, l->lane, l->head);
	uint32_t task;
	pid_t pid;
	if (l->its_owner)
		take_lane(lanes, all, l->lane, l->head, l->told ? 2 : 1);
	else
		call_notes_claim(lanes->notes, l->lane, l->owner);
	bool same = call_notes_task(lanes->notes, l->lane, &task, &pid) && task == t->task;
	call_notes_bind(lanes->notes, l->lane, t->task, l->pid);
	/* A note that nobody vouches for may be of this task, whoever the lane is of by now. */
	if (call_notes_doubts(lanes->notes, l->lane, t->lane_head, l->head))
		capture_tasks_add_lost(all, t, 1, 0, t->last_ns);
	t->lane_head = l->head;
	/* Clocks: what stands there until now is another task's, or was told by the kernel. */
	if (!same)
		t->clock_next = l->clocks;
	else
		capture_clocks_take_noted(all, lanes->clocks, t, &noted);
}

void capture_lanes_take(const struct capture_lanes *lanes, struct capture_tasks *all)
{
	for (uint32_t i = 0; lanes->notes && lanes->patches && i < CALL_LANES; i++)
		take_lane(lanes, all, i, call_notes_seen(lanes->notes, i), 0);
}

uint32_t capture_lanes_number(uint64_t owner)
{
	return (uint32_t)(call_lane_of(owner) >> CALL_LANE_SHIFT);
}

uint64_t capture_lanes_entered(const struct capture_lanes *lanes, uint64_t owner, uint32_t task)
{
	uint32_t lane = capture_lanes_number(owner), its;
	pid_t pid;

	return lanes->notes && call_notes_task(lanes->notes, lane, &its, &pid) && its == task
		       ? call_notes_entered(lanes->notes, lane)
		       : 0;
}
