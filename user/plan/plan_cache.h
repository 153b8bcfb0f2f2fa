/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_cache.h: plans of earlier plannings: $XDG_CACHE_HOME/pugmark, else $HOME/.cache/pugmark. */
#ifndef USER_PLAN_CACHE_H
#define USER_PLAN_CACHE_H

#include "offline/base/digest.h"
#include "user/plan/planning.h"

/* Where the plan of @model belongs; the caller frees. NULL where there is no cache. @inputs: a
 * digest of all that it is made from beside the binary and the options. */
char *plan_cache_path(const struct pugmark_model *model, const struct planning_options *options,
		      const uint8_t inputs[DIGEST_BYTES]);
/* Where the functions that were taken out under options->max_overhead belong (taken_before.h); in
 * the same way. */
char *plan_cache_taken_path(const struct pugmark_model *model,
			    const struct planning_options *options);
/* What is kept at @path (NULL: nothing), if it is whole and of this binary, each of
 * its probes stands where that has such an instruction, and nobody else can have written it
 * (own_cache.h); the caller frees. */
struct pugmark_plan *plan_cache_find(const char *path, const struct pugmark_model *model,
				     enum plan_mode mode);
/* Returns 0, or -errno with @diag filled. */
int plan_cache_keep(const char *path, const struct pugmark_plan *plan, struct pugmark_diag *diag);

#endif
