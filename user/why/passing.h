/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* passing.h: in what a run that failed differs from runs of the same program that did not. */
#ifndef USER_WHY_PASSING_H
#define USER_WHY_PASSING_H

#include "user/why/lines.h"

struct why_passing;

/* Replays the recordings of runs that passed, @o->passing, and the failing run of @w once more, up
 * to where it was built. 0, or -errno with @diag filled; to be freed with why_passing_free(). */
int why_passing_new(struct why_run *w, const struct why_options *o, struct why_passing **out,
		    struct pugmark_diag *diag);
void why_passing_free(struct why_passing *passing);
/* In how many runs that passed the jump at run-time address @ip went the ways that it went. */
unsigned why_passing_same_ways(const struct why_passing *passing, uint64_t ip);
/* Adds the jumps to @fold, which is not finished, that went a way which they went in no run that
 * passed, and that it does not have: what depends on them may be what was not executed. */
int why_passing_add(struct why_passing *passing, struct fold *fold);
/* Says of @lines, which are of @fold, in how many runs that passed it was the same. */
void why_passing_lines(struct why_passing *passing, const struct fold *fold, struct why_line *lines,
		       size_t n);

#endif
