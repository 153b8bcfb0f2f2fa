/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_checked.h: `pugmark plan --check`: the proof that a plan file is good, or what is wrong. */
#ifndef USER_PLAN_CHECKED_H
#define USER_PLAN_CHECKED_H

#include "user/cli/outbuf.h"

#include <pugmark/plan.h>

/* Checks that @plan is of the binary of @model and that each of its probes stands on an instruction
 * there, and proves it from its tables; prints the result. @path: its file, or what to call it.
 * Returns 0; -ESTALE with @diag filled where it is of another binary; -EILSEQ where it has faults,
 * which are printed; or -errno. */
int plan_checked(const struct pugmark_plan *plan, const char *path,
		 const struct pugmark_model *model, bool json, struct outbuf *out,
		 struct pugmark_diag *diag);

#endif
