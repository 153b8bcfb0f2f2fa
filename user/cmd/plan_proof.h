/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_proof.h: that the log of a plan can be read in one way only, proved from the plan and
 * printed. */
#ifndef USER_CMD_PLAN_PROOF_H
#define USER_CMD_PLAN_PROOF_H

#include <pugmark/diag.h>
#include <pugmark/model.h>
#include <pugmark/plan.h>

#include <stdbool.h>

/* Of @plan, which @path names in what is printed. Returns 0; -EILSEQ: something is wrong with it,
 * and that was printed; or -errno with @diag filled. */
int plan_proof(bool json, const struct pugmark_plan *plan, const char *path,
	       const struct pugmark_model *model, struct pugmark_diag *diag);
/* The same of the plan of @binary in the file @path, or of the shares in the folder @path. */
int plan_proof_of_file(bool json, const char *binary, const char *path, struct pugmark_diag *diag);

#endif
