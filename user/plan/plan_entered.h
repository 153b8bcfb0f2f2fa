/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_entered.h: which exported functions may be called from outside, by the modules that a binary
 * is loaded with or loads later. */
#ifndef USER_PLAN_ENTERED_H
#define USER_PLAN_ENTERED_H

#include "offline/link/module_files.h"
#include "user/plan/planning.h"

struct plan_modules {
	struct module_files plugins; /* the options' plugins, folders opened up; and traced ones */
};

/* Lists the files, by folders alone. Returns 0 and @out, which the caller releases, or -errno with
 * @diag filled. */
int plan_modules_list(const struct planning_options *o, struct plan_modules *out,
		      struct pugmark_diag *diag);
void plan_modules_deinit(struct plan_modules *modules);

/* Sets @entered (one byte a function of @model) and @bound (one an import) as
 * callers_by_name_mark() does. *@plugin: the module of this host for which all are set, heap; NULL:
 * none. Returns 0 or -errno with @diag filled. */
int plan_entered_mark(const struct pugmark_model *model, const struct planning_options *o,
		      const struct plan_modules *modules, uint8_t *entered, uint8_t *bound,
		      char **plugin, struct pugmark_diag *diag);

/* What the code says of those of the libraries that the binary needs that are found: sets @never
 * (one byte an import) as never_returns_mark() does, and @switches (one byte a site) as
 * switching_calls_mark(). Returns 0 or -ENOMEM. */
int plan_calls_mark(const struct pugmark_model *model, const struct planning_options *o,
		    const struct plan_modules *modules, uint8_t *never, uint8_t *switches);

#endif
