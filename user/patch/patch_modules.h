/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* patch_modules.h: the modules of a recording as they may be patched in any process: which of their
 * witnesses, by which forms, found once from their files. area.h gives a process what that takes.
 */
#ifndef USER_PATCH_PATCH_MODULES_H
#define USER_PATCH_PATCH_MODULES_H

#include "user/kernel/record_options.h"
#include "user/patch/area.h"

enum { PATCH_MODULES_MAX = 64 };

struct patch_modules {
	struct patch_module at[PATCH_MODULES_MAX];
	uint32_t n, n_sites; /* sites: of all modules */
	uint64_t *returns;   /* what all at[].returns are parts of */
};

/* @all is zeroed. @options and what they lead to are borrowed until patch_modules_deinit(), which
 * is to be called whatever is returned: 0, or -errno, with @diag filled but for -ENOMEM. */
int patch_modules_init(struct patch_modules *all, const struct recorder_options *options,
		       const struct text_span *spans, struct pugmark_diag *diag);
void patch_modules_deinit(struct patch_modules *all);

#endif
