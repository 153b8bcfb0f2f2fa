/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_said.h: what `pugmark plan` does with a binary, done in a sandbox: what is printed there and
 * the plan come back as bytes, and are printed and written here. */
#ifndef USER_PLAN_SAID_H
#define USER_PLAN_SAID_H

#include "user/plan/planning.h"

/* In the sandbox: prints to stdout, and leaves the plan, if there is one, in @out. 0, -EILSEQ
 * (what is wrong has been printed) or -errno with @diag filled. */
typedef int plan_says(void *ctx, const struct planning_inside *inside, struct planning_result *out,
		      struct pugmark_diag *diag);

/* Has @says done with @ctx, prints what it printed, and writes the plan to options->output, if that
 * is set (-: standard output). @grant: as planning_apart(). Returns what it returned. */
int plan_said(const char *binary, const struct planning_options *options, const char *grant,
	      plan_says *says, void *ctx, struct pugmark_diag *diag);

#endif
