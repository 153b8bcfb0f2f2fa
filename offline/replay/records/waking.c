// SPDX-License-Identifier: LGPL-2.1-or-later
/* waking.c: see waking.h. */
#include "offline/replay/records/waking.h"

#include "offline/eval/insn/state.h"
#include "offline/replay/records/calls_told.h"

/* Whether the thread was in a system call when it was stopped for its START: rax says that the
 * kernel would make the call again. */
static bool was_asleep(const struct capture *start)
{
	return call_told_restarts((int64_t)start->regs[VALUE_RAX]);
}

/* Whether the first record of a thread tells from when on it executes: the start of all, or the
 * call that has made it. Before another one it may have been awake as long as there are records. */
static bool tells_beginning(const struct capture *first)
{
	return first->kind == CAPTURE_START || (call_told_forks(first) && !first->result);
}

bool value_waking_next(struct waking *w, const struct capture *c, struct span *out)
{
	if (!w->begun && !tells_beginning(c))
		w->awake = w->known = true;
	w->begun = true;
	bool asleep = (c->kind == CAPTURE_KERNEL || c->kind == CAPTURE_SWITCH) && c->entered;
	bool ends = w->awake && (asleep || c->kind == CAPTURE_END);
	if (ends)
		*out = (struct span){w->since, asleep ? c->entered : c->order};
	/* What began before anything was captured has told nothing of its beginning. */
	bool slept = (c->kind == CAPTURE_KERNEL && !w->known) || c->kind == CAPTURE_SWITCH;
	if (asleep || slept || !w->awake)
		w->since = c->order;
	w->awake = c->kind == CAPTURE_START ? !was_asleep(c)
					    : c->kind != CAPTURE_END && c->order < CAPTURE_NEVER;
	w->known = w->awake;
	return ends;
}
