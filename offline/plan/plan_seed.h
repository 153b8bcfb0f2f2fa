/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_seed.h: an earlier plan of the same file as the start of another choice. Most functions are
 * not affected when a few others are not traced any more. */
#ifndef OFFLINE_PLAN_SEED_H
#define OFFLINE_PLAN_SEED_H

#include "offline/choose/choose.h"

#include <pugmark/plan.h>

/* Makes a seed from @plan, made for the same file with another scope. Functions that were not
 * traced, and those that call one that is not traced any more, are to be chosen for anew. Returns 0
 * or -ENOMEM. */
int choice_seed_from_plan(const struct program *program, const struct pugmark_plan *plan,
			  struct choice_seed *out);
void choice_seed_deinit(struct choice_seed *seed);

#endif
