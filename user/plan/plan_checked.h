/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_checked.h: `pugmark plan --check`: the proof that a plan file is good, or what is wrong. */
#ifndef USER_PLAN_CHECKED_H
#define USER_PLAN_CHECKED_H

#include "user/cli/outbuf.h"

#include <pugmark/plan.h>

/* Checks that @plan, of the file @path (or of none, then this is what to call it), is of the binary
 * of
 * @model and that each of its probes stands on an instruction of it, and proves it from its tables.
 * Prints what comes out. Returns 0; -ESTALE with @diag filled where it is of another binary;
 * -EILSEQ where it has faults, which are printed; or -errno. */
int plan_checked(const struct pugmark_plan *plan, const char *path,
		 const struct pugmark_model *model, bool json, struct outbuf *out,
		 struct pugmark_diag *diag);

#endif
