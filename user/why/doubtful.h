/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doubtful.h: of each line of a slice, how sure it is that it did what it should
 * (offline/slice/doubt.h). */
#ifndef USER_WHY_DOUBTFUL_H
#define USER_WHY_DOUBTFUL_H

#include "user/why/lines.h"

/* Sets the confidence of @lines, which are of @fold, whose members were kept. @pinned: what outputs
 * that were right show to be right. Executes the task again, for the values. 0, -ENOMEM, or another
 * error with @diag filled. */
int why_doubt(struct why_run *w, const struct why_options *o, const uint64_t *pinned,
	      const struct fold *fold, struct why_line *lines, size_t n, struct pugmark_diag *diag);

#endif
