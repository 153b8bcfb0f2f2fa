/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_names.h: what modes, placements, kinds of site and captures are called, on the command line,
 * in the cache and in every output. */
#ifndef USER_PLAN_NAMES_H
#define USER_PLAN_NAMES_H

#include "offline/choose/choose.h"
#include "user/cli/outbuf.h"

#include <pugmark/plan.h>

/* The placements of level paths: "blocks", "targets", "edges", "nodes", "best", or false. */
bool planning_placement_named(const char *name, enum plan_mode *out);
/* "full", "branch", "casper", "best", or false. */
bool planning_mode_named(const char *name, enum plan_mode *out);
const char *planning_mode_name(enum plan_mode mode);
extern const char *const plan_kind_names[]; /* by enum pugmark_plan_site_kind */
/* What the probe of @site reads, joined by commas, or "-". */
void plan_put_captures(struct outbuf *out, const struct pugmark_plan_site *site);

#endif
