/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prune.h: lines of a slice that need no look. *Fine*: an instance is pinned if another result of
 * it would have changed an output that was right, along instructions that are one to one
 * (offline/slice/one_to_one.h); a line all of whose instances are pinned is likely right. Values
 * that instructions have had elsewhere are not looked at: what is not one to one pins nothing.
 * *Coarse*: a line that another slice does not have. */
#ifndef USER_WHY_PRUNE_H
#define USER_WHY_PRUNE_H

#include "user/why/lines.h"

/* A bit an instruction: it is pinned. NULL where no output is said to be right. The caller frees
 * it.
 */
int why_pinned(struct why_run *w, uint64_t **out);
/* Adds the slices, in both directions, of what is asked for besides (WHY_ALSO). 0 or -ENOMEM. */
int why_also(struct why_run *w, const struct why_options *o, struct fold *fold);
/* Keeps the lines that @other has as well. */
int why_keep_common(struct why_run *w, struct fold *other, const struct why_options *o,
		    struct why_line *lines, size_t *n);
/* Marks the lines that @data, a slice by data alone, has as well. */
int why_mark_data(struct why_run *w, struct fold *data, const struct why_options *o,
		  struct why_line *lines, size_t n);
/* The lines in the order of doubt: those whose instances are all pinned last, the others by what
 * two witnesses say. *Nearness*: first what the slice has by data alone, then what was executed
 * next to the center of the slice (the critical jumps, or what is asked about). *Evidence* of runs
 * that passed: first what the fewest of them did as the run that failed, then by nearness. Each
 * puts the lines into its own order, and a line's place is by the sum of 1 / place in each: so one
 * that either witness names first is among the first. Returns how many at the end are in no doubt.
 */
size_t why_put_by_doubt(struct why_line *lines, size_t n);

#endif
