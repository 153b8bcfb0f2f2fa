// SPDX-License-Identifier: LGPL-2.1-or-later
/* suppose.c: a branch, or the address of a store, that an assumed value decides; or a record whose
 * registers are hidden, taken where its place was met first. If the assumption
 * is wrong, the program has gone another way and has written what is not written here. So nothing
 * that follows is exact, until a record agrees with the place that was reached; and then the way is
 * known again, but what memory and registers hold is assumed, unless that record tells it. */
#include "offline/replay/run/suppose.h"

#include "offline/replay/run/run.h"

#include <stdlib.h>

static uint64_t doubts_of(const struct value_run *run)
{
	uint64_t assumed, unknown;

	if (run->executing)
		return run->assumed + run->unknown;
	value_machine_inexact(run->machine, &assumed, &unknown);
	return assumed + unknown;
}

/* Instructions since the supposition began that are exact by themselves. */
static uint64_t so_far(const struct value_run *run)
{
	const struct supposition *s = &run->supposition;
	uint64_t all = value_run_count(run) - s->since, doubts = doubts_of(run) - s->doubts;

	return !s->holds || doubts > all ? 0 : all - doubts;
}

void value_run_note_supposed(struct value_run *run)
{
	struct supposition *s = &run->supposition;

	if (!value_machine_supposed(run->machine) || s->holds)
		return;
	s->holds = true;
	s->since = value_run_count(run);
	s->doubts = doubts_of(run);
}

bool value_run_hides(const struct capture *c)
{
	return (c->kind == CAPTURE_SIGNAL || c->kind == CAPTURE_SWITCH) && !c->known;
}

void value_run_suppose(struct value_run *run)
{
	value_machine_suppose(run->machine);
	value_run_note_supposed(run);
}

void value_run_agreed(struct value_run *run, const struct capture *c)
{
	const uint64_t kept = 1 << VALUE_RBX | 1 << VALUE_RSP | 1 << VALUE_RBP | 0xf000;
	const struct value_state *s = value_machine_state(run->machine);
	uint64_t told = (c->known & 0xffff) | 1 << VALUE_RSP;

	if (!value_run_hides(c)) {
		run->supposition.agreed = value_run_count(run);
		run->supposition.agreed_doubts = doubts_of(run);
	}
	if (!run->supposition.holds || value_run_hides(c))
		return;
	/* Nobody has looked at the hash where one of these registers is not exact by itself. */
	if (c->has_hash && !value_quality(run->machine, kept) && capture_hash(s->gpr) == c->hash)
		told |= kept;
	run->supposition.total += so_far(run);
	run->supposition.holds = false;
	value_memory_assume_all(&run->memory);
	if (c->known & CAPTURE_FLAGS_KNOWN)
		told |= (uint64_t)1 << VALUE_BIT_FLAGS | (uint64_t)1 << VALUE_BIT_DF;
	value_doubt(run->machine, VALUE_BITS_ALL & ~told);
}

/* --- what was seen too late ------------------------------------------------------------------ */

static bool keep_stray(struct value_run *run, struct stray stray)
{
	/* The run may come by again. */
	if (stray.from >= stray.to ||
	    (run->n_strays && run->strays[run->n_strays - 1].from >= stray.from))
		return true;
	struct stray *more = realloc(run->strays, (run->n_strays + 1) * sizeof(*more));
	if (!more)
		return false;
	run->strays = more;
	more[run->n_strays++] = stray;
	return true;
}

static void suppose_since(struct value_run *run, uint64_t since, uint64_t doubts)
{
	struct supposition *s = &run->supposition;
	value_machine_suppose(run->machine);
	s->holds = true;
	s->since = since;
	s->doubts = doubts;
}

void value_run_strayed(struct value_run *run, bool ends)
{
	const struct supposition *s = &run->supposition;
	struct stray stray = {s->agreed, ends ? UINT64_MAX : value_run_count(run)};
	run->memory.exhausted |= !keep_stray(run, stray);
	suppose_since(run, s->agreed, s->agreed_doubts);
}

uint64_t value_run_note_stray(struct value_run *run)
{
	const uint64_t count = value_run_count(run);
	size_t low = 0, high = run->n_strays;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (run->strays[mid].to <= count)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == run->n_strays)
		return UINT64_MAX;
	const struct stray *next = &run->strays[low];
	if (next->from > count)
		return next->from;
	if (!run->supposition.holds)
		suppose_since(run, count, doubts_of(run));
	return next->to;
}

uint64_t value_run_supposed(const struct value_run *run)
{
	return run->supposition.total + so_far(run);
}
