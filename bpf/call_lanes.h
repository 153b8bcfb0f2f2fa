/* SPDX-License-Identifier: GPL-2.0 */
/* call_lanes.h: where the current thread stands in the lane that it notes its system calls in
 * (offline/capture/call_area.h), so that what is recorded here comes where it was. */
#ifndef BPF_CALL_LANES_H
#define BPF_CALL_LANES_H

#include "offline/capture/call_area.h"
#include "offline/capture/clock_area.h"

#include "bpf/capture_send.h"
#include "bpf/clocks.h"

/* Where they are in the process, and in its children, which have none; 0: there are none. */
volatile __u64 call_lanes = 0;
volatile __u64 call_local = 0;

/* The lane of the current thread; false: it has none. */
static __always_inline bool lane_read(struct call_lane *lane)
{
	__u64 owner = bpf_get_current_task_btf()->thread.fsbase;

	return !bpf_probe_read_user(lane, sizeof(*lane),
				    (void *)(call_lanes + call_lane_of(owner)));
}

enum lane_news {
	LANE_TOLD = 1,	 /* the call of the last note is told by the record that follows */
	LANE_SHARED = 2, /* another task may write there from now on */
};

/* Says how many notes there are, and returns whether the recorder reads what clocks have told
 * as well. @news: enum lane_news. Global, so that it is verified once. */
__noinline int lane_send(struct capture_state *cs, __u32 news)
{
	__u64 owner = bpf_get_current_task_btf()->thread.fsbase;
	struct call_lane lane = {};
	struct call_local local = {};
	struct clock_head clocks;

	if (!cs || !owner)
		return 0;
	/* A child of fork() notes nothing, though it has the lanes as well. */
	if (bpf_probe_read_user(&local, sizeof(local), (void *)call_local) || !local.armed ||
	    !lane_read(&lane))
		return 0;
	lane.owner &= ~CALL_LANE_CLOSED;
	struct capture_lane *c = record_room(cs);
	__builtin_memset(c, 0, sizeof(*c));
	c->kind = RING_CAPTURE_LANE;
	c->task = cs->batch.task;
	c->lane = call_lane_of(owner) >> CALL_LANE_SHIFT;
	c->told = news & LANE_TOLD;
	c->shared = (news & LANE_SHARED) != 0;
	c->number = cs->number++;
	c->owner = owner;
	c->its_owner = lane.owner;
	c->head = lane.head;
	c->pid = cs->pid;
	/* Up to now they were told by the kernel. */
	c->clocks = cs->clock_owner == owner ? cs->clocks : 0;
	/* What they have told since is read here where no note lies between, and else later. */
	bool between = lane.head != cs->lane_head || cs->clock_owner != owner;
	cs->lane_head = lane.head;
	if (lane.owner == owner && between && clock_area && clock_slot(owner, &clocks)) {
		__u64 n = clocks.n - cs->lane_clocks;

		c->clocks = cs->lane_clocks = clocks.n;
		c->order = order_take((n > CLOCK_ENTRIES ? CLOCK_ENTRIES : n) + 1);
		c->time_ns = cs->time_ns;
		cs->clock_owner = owner; /* should it go on without lane */
		cs->clocks = clocks.n;
	}
	record_keep(cs, sizeof(*c));
	return lane.owner == owner && between;
}

/* All that the thread has noted by now comes before what is recorded next. */
static __always_inline void noted_send(struct capture_state *cs, __u32 news)
{
	if (!call_lanes || !lane_send(cs, news))
		clocks_send(cs);
}

/* The end of a program that may have recorded that, and nothing behind it. The recorder takes what
 * the thread notes from here on as it comes: a record that says how many notes there were must not
 * wait for the next one, which may be any number of notes later. */
static __always_inline void noted_sent(struct capture_state *cs)
{
	if (call_lanes)
		records_send(cs, BPF_RB_NO_WAKEUP);
}

#endif
