/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_plan.h: what is captured of the traced modules: made before anything runs. */
#ifndef USER_CAPTURE_PLAN_H
#define USER_CAPTURE_PLAN_H

#include "offline/capture/places.h"
#include "user/kernel/record_options.h"

#include <jansson.h>

struct capture_plan {
	struct imports *imports;
	struct place_list places; /* of all modules, by module and address */
	char **names;		  /* one text a module: the imports that its places name */
	uint32_t n_modules;
	json_t *modules; /* as in the table of the file of captures, without "bias" */
};

/* Plans what to capture of @modules. @imports: a file of rows, or NULL. Each module is looked at in
 * a sandbox of its own (user/sandbox), and what that hands back is checked, each probe against the
 * file's bytes. Returns 0, or -errno with @diag filled. */
int capture_plan_make(const struct recorder_module *modules, uint32_t n_modules,
		      const char *imports, struct capture_plan **out, struct pugmark_diag *diag);
/* One of nothing yet. NULL: out of memory. */
struct capture_plan *capture_plan_new(uint32_t n_modules);
/* Checks and takes what the child handed back of @module, which has this number: any bytes. 0, or
 * -errno with @diag filled. */
int capture_plan_take(struct capture_plan *plan, const struct recorder_module *module,
		      uint32_t number, const void *handed, size_t len, struct pugmark_diag *diag);
void capture_plan_free(struct capture_plan *plan);

#endif
