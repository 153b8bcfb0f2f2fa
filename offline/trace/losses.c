// SPDX-License-Identifier: LGPL-2.1-or-later
/* losses.c: see losses.h. Whoever makes the trace is told of a loss too late: the task's events are
 * read a second time, ahead, once a gap asks for it. */
#include "offline/trace/losses.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct losses {
	struct pugmark_recording_iter *ahead;
	uint64_t taken; /* events that the trace has taken, */
	uint64_t read;	/* and that were read ahead */
	/* What was read last: a loss, or the beginning of another program, which no loss of the one
	 * before follows. */
	bool found;
	uint64_t gaps; /* that may still be its */
};

int losses_new(const struct pugmark_recording *rec, uint32_t index, struct losses **out)
{
	struct losses *l = calloc(1, sizeof(*l));
	int err = l ? pugmark_recording_iter_new(rec, index, &l->ahead) : -ENOMEM;
	if (err)
		free(l);
	else
		*out = l;
	return err;
}

void losses_free(struct losses *l)
{
	if (l)
		pugmark_recording_iter_free(l->ahead);
	free(l);
}

static bool is_end(const struct pugmark_witness_event *e)
{
	return e->kind == PUGMARK_EVENT_EXEC ||
	       (e->kind == PUGMARK_EVENT_LOST && !(e->flags & PUGMARK_EVENT_DAMAGED));
}

/* Finds the first loss that was not taken before the event that was taken last. */
static void find_loss(struct losses *l)
{
	struct pugmark_witness_event e;
	if (l->found && l->read >= l->taken)
		return;
	l->found = false;
	l->gaps = 0;
	while (!l->found && pugmark_recording_next(l->ahead, &e) == 1)
		l->found = ++l->read >= l->taken && is_end(&e);
	if (l->found && e.kind == PUGMARK_EVENT_LOST)
		l->gaps = e.lost;
}

void losses_blame(struct losses *l, struct pugmark_trace_event *events, uint32_t n)
{
	l->taken++;
	for (struct pugmark_trace_event *e = events; e < events + n; e++) {
		if (e->kind != PUGMARK_TRACE_GAP || e->cause != PUGMARK_CAUSE_MODEL)
			continue;
		find_loss(l);
		if (!l->gaps)
			continue;
		e->cause = PUGMARK_CAUSE_LOST;
		l->gaps--;
	}
}
