/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_scope.h: from patterns and lists to the functions that are not traced. */
#ifndef USER_PLAN_SCOPE_H
#define USER_PLAN_SCOPE_H

#include "user/plan/planning.h"
#include "user/plan/profile.h"

/* Finds which functions of @model are opaque: those of @foreign code
 * (offline/program/foreign_code.h; NULL: there is none), and by options->only, ->without, ->out and
 * ->share, which depends on @profile (nothing in it: on estimates): the caller frees; *@out is NULL
 * where none is. Returns 0, or -errno with @diag filled (-ENOENT: a pattern matches no function;
 * -ENODATA: nothing is left to trace). */
int plan_scope_find(const struct pugmark_model *model, const struct planning_options *options,
		    const struct profile *profile, const bool *foreign, bool **out,
		    struct pugmark_diag *diag);

#endif
