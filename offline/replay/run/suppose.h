/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* suppose.h: what rests on a value that is only assumed. */
#ifndef OFFLINE_REPLAY_RUN_SUPPOSE_H
#define OFFLINE_REPLAY_RUN_SUPPOSE_H

#include "offline/replay/replay.h"

/* What rests on a branch that an assumed value decided. */
struct supposition {
	bool holds;		/* since the branch no record has agreed */
	uint64_t since;		/* instruction count of the branch */
	uint64_t doubts;	/* instructions that were not exact by then */
	uint64_t total;		/* of those that came to their end: instructions that were exact */
	uint64_t agreed;	/* instructions when a record agreed last, */
	uint64_t agreed_doubts; /* and those that were not exact by then */
};

/* Instructions of which is known by what followed that the program has not gone that way. */
struct stray {
	uint64_t from, to;
};

/* Asks the machine whether an assumed value has decided something. */
void value_run_note_supposed(struct value_run *run);
/* A record agrees with where the run is: what it does not tell is assumed, the way is known again.
 */
void value_run_agreed(struct value_run *run, const struct capture *c);
/* Whether @c tells no register of where the task was (record --redact): that may have been any of
 * the times at which the run comes by. */
bool value_run_hides(const struct capture *c);
/* It was taken for the first of them. */
void value_run_suppose(struct value_run *run);
/* The program has not gone the way of the run, which was seen too late: of what was executed since
 * a record agreed last nothing is exact, whenever it is executed again, nor is what follows, up to
 * the next that agrees; or, of a run that ends here (@ends), ever. */
void value_run_strayed(struct value_run *run, bool ends);
/* Before more is executed: nothing is exact here if it is known that the run strays. Returns up to
 * which instruction that says. */
uint64_t value_run_note_stray(struct value_run *run);

#endif
