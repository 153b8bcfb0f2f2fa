// SPDX-License-Identifier: LGPL-2.1-or-later
/* frames_left.c: which of the open frames are still there, by the chains of calls that support
 * them. */
#include "offline/recover/stack/snapshot.h"

#include "offline/recover/stack/chain.h"

/* Whether frame @i, of @end, lies on another stack than the frames inside of it, which may still be
 * there: one of them lies higher. So a function calls another one on a stack of its own: Go's
 * asmcgocall(), the C functions that it is asked to. */
static bool on_stack_before(const struct parser *p, uint64_t above, uint32_t end, uint32_t i)
{
	for (uint32_t k = end; k-- > i + 1;)
		if (p->stack[k].cfa > above && p->stack[k].cfa > p->stack[i].cfa)
			return true;
	return false;
}

/* Whether frame @i, of @end, and what it came through are where they were. */
static bool frame_intact(const struct parser *p, const struct pugmark_witness_event *e,
			 uint64_t above, uint32_t end, uint32_t i)
{
	const struct frame *f = &p->stack[i];
	bool left = f->cfa && f->cfa <= above && !on_stack_before(p, above, end, i);
	return !left && stack_slot_holds(p, e, f->cfa, f->ret) && chain_supports(p, e, i) &&
	       stack_call_intact(p, e, i);
}

/* Whether the handler whose first frame is @i runs on a stack of its own, and the event is not on
 * that one but on the stack of what it interrupted. */
static bool on_interrupted_stack(const struct parser *p, const struct pugmark_witness_event *e,
				 uint32_t i)
{
	if (stack_covers(p, e, i))
		return false;
	while (i-- > 0)
		if (stack_covers(p, e, i))
			return true;
	return false;
}

uint32_t stack_live_frames(const struct parser *p, const struct pugmark_witness_event *e,
			   uint64_t above, uint32_t end)
{
	uint32_t live = 0;
	while (end) {
		/* Frames outside of a handler's may have returned unseen before it came. They are
		 * looked at only if none of the handler's own frames is still there. */
		uint32_t begin = end;
		while (begin && p->stack[begin - 1].boundary != BELOW_HANDLER)
			begin--;
		if (begin)
			begin--;
		live = begin;
		bool handler = p->stack[begin].boundary == BELOW_HANDLER;
		if (!handler || !on_interrupted_stack(p, e, begin))
			while (live < end && frame_intact(p, e, above, end, live))
				live++;
		if (live > begin)
			break;
		end = live = begin;
	}
	return live;
}
