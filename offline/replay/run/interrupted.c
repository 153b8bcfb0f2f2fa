// SPDX-License-Identifier: LGPL-2.1-or-later
/* interrupted.c: what signal handlers have interrupted and may still return to.
 *
 * A handler returns by rt_sigreturn(), which takes registers from the frame that the kernel has
 * made for it: its address tells which handler it is. One that is left (siglongjmp()) never says
 * so. It can no longer return once the kernel has put another handler's frame over its own. Where
 * the stack pointer is proves nothing: a context may be put aside, and taken up later. */
#include "offline/replay/run/interrupted.h"

#include "offline/replay/run/run.h"

#include <stdlib.h>
#include <string.h>

/* What every frame has: 440 bytes (handler_frame.c), 16 that are nothing, and at least the
 * registers that FXSAVE stores. Of two that begin less than that apart, the later one has
 * overwritten a part of the other. */
enum { FRAME_LEAST = 456 + 512 };

/* Frames of handlers outside of traced modules are not known. So many of those may return, the last
 * ones: a program that leaves all of its handlers would fill the memory otherwise, and that of each
 * snapshot. */
enum { UNPLACED_MOST = 64 };

enum { RETURN_ADDRESS = 8 }; /* the first word of a frame, which its handler has taken by then */

/* Forgets the first one without a frame, where there are as many as may be. */
static void make_room(struct value_run *run)
{
	const struct interrupted *first = NULL;
	unsigned n = 0;
	for (size_t i = run->n_signals; i; i--)
		if (!run->signals[i - 1].frame) {
			first = &run->signals[i - 1];
			n++;
		}
	if (n < UNPLACED_MOST)
		return;
	value_run_end_interrupted(run, first);
	run->forgot_handlers = true;
}

struct interrupted *value_run_interrupt(struct value_run *run)
{
	make_room(run);
	struct interrupted *was = realloc(run->signals, (run->n_signals + 1) * sizeof(*was));
	if (!was)
		return NULL;
	run->signals = was;
	was = &was[run->n_signals++];
	memset(was, 0, sizeof(*was));
	return was;
}

void value_run_end_interrupted(struct value_run *run, const struct interrupted *was)
{
	size_t i = was - run->signals;
	run->n_signals--;
	memmove(&run->signals[i], &run->signals[i + 1],
		(run->n_signals - i) * sizeof(*run->signals));
}

static bool is_overwritten(const struct interrupted *was, uint64_t frame)
{
	uint64_t apart = was->frame < frame ? frame - was->frame : was->frame - frame;
	return was->frame && apart < FRAME_LEAST;
}

void value_run_frame_made(struct value_run *run, uint64_t frame)
{
	for (size_t i = run->n_signals - 1; i; i--)
		if (is_overwritten(&run->signals[i - 1], frame))
			value_run_end_interrupted(run, &run->signals[i - 1]);
	run->signals[run->n_signals - 1].frame = frame;
}

const struct interrupted *value_run_handler_at(const struct value_run *run, uint64_t frame)
{
	for (size_t i = run->n_signals; frame && i; i--)
		if (run->signals[i - 1].frame == frame)
			return &run->signals[i - 1];
	return NULL;
}

/* The last one that was found with that stack pointer, or else the last one, unless it may be one
 * that was forgotten; of those whose frame is not known, or of any. */
static const struct interrupted *found_with(const struct value_run *run, uint64_t sp, bool any)
{
	const struct interrupted *last = NULL;
	for (size_t i = run->n_signals; i; i--) {
		const struct interrupted *was = &run->signals[i - 1];
		if (was->frame && !any)
			continue;
		if (was->sp == sp)
			return was;
		last = last ? last : was;
	}
	return run->forgot_handlers ? NULL : last;
}

const struct interrupted *value_run_returning(const struct value_run *run, const struct capture *c,
					      uint64_t *frame)
{
	const uint64_t sp = value_machine_state(run->machine)->gpr[VALUE_RSP];
	bool known = !run->outside && !value_quality(run->machine, (uint64_t)1 << VALUE_RSP);
	*frame = known ? sp - RETURN_ADDRESS : 0;
	const struct interrupted *was = value_run_handler_at(run, *frame);
	return was ? was : found_with(run, c->sp, !known);
}

bool value_run_returns_from(const struct value_run *run, const struct capture *c, uint64_t *number)
{
	uint64_t frame;
	const struct interrupted *was = value_run_returning(run, c, &frame);
	if (was)
		*number = was->number;
	return was;
}
