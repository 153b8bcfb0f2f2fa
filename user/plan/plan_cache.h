/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_cache.h: plans of earlier plannings: $XDG_CACHE_HOME/pugmark, else $HOME/.cache/pugmark. */
#ifndef USER_PLAN_CACHE_H
#define USER_PLAN_CACHE_H

#include "offline/base/digest.h"
#include "user/plan/planning.h"

/* Where the plan of @model is kept; the caller frees. NULL: there is no cache. @inputs: a digest of
 * what else the plan is made from, beside the binary and the options. */
char *plan_cache_path(const struct pugmark_model *model, const struct planning_options *options,
		      const uint8_t inputs[DIGEST_BYTES]);
/* Where the list of functions is kept that options->max_overhead took out (taken_before.h). */
char *plan_cache_taken_path(const struct pugmark_model *model,
			    const struct planning_options *options);
/* The plan kept at @path (NULL: none). It is returned only if it is whole and of this binary, each
 * of its probes stands on such an instruction there, and nobody else can have written it
 * (own_cache.h). The caller frees. */
struct pugmark_plan *plan_cache_find(const char *path, const struct pugmark_model *model,
				     enum plan_mode mode);
/* Returns 0, or -errno with @diag filled. */
int plan_cache_keep(const char *path, const struct pugmark_plan *plan, struct pugmark_diag *diag);

#endif
