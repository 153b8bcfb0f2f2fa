/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_lanes.h: the system calls that a process has noted itself (call_notes.h) become records
 * of the task whose lane they are in. */
#ifndef USER_CAPTURE_LANES_H
#define USER_CAPTURE_LANES_H

#include "offline/capture/capture_ring.h"
#include "user/values/clock/clock_calls.h"
#include "user/values/write/call_notes.h"
#include "user/values/write/capture_tasks.h"
#include "user/values/write/opened_files.h"

#include <stdbool.h>
#include <stdint.h>

struct capture_lanes {
	const struct call_patches *patches; /* borrowed; NULL: the kernel tells of all calls */
	struct call_notes *notes;	    /* NULL: it always did */
	const struct clock_calls *clocks;   /* borrowed */
	struct opened_files *opened;	    /* borrowed */
};

/* The lane that the task has from here on, and what is noted in it by now. */
void capture_lanes_take_note(const struct capture_lanes *lanes, struct capture_tasks *all,
			     struct capture_task *t, const struct capture_lane *l);
/* What was noted in each lane when call_notes_look() was called last. */
void capture_lanes_take(const struct capture_lanes *lanes, struct capture_tasks *all);
/* In the order, when the call began that the thread of @task with pointer @owner is in; 0: that is
 * not known. */
uint64_t capture_lanes_entered(const struct capture_lanes *lanes, uint64_t owner, uint32_t task);
/* The number of the lane of the thread with pointer @owner. */
uint32_t capture_lanes_number(uint64_t owner);

#endif
