/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_build.h: turns a program and the witnesses chosen for it into a plan. */
#ifndef OFFLINE_PLAN_BUILD_H
#define OFFLINE_PLAN_BUILD_H

#include <pugmark/plan.h>

#include "offline/choose/choose.h"

/* Makes the plan. @model gives what the program does not have: names, and how each probe reads its
 * site. It may be NULL (a program that is not of a binary): then functions have no names and sites
 * no operands. */
int plan_build(const struct program *program, const struct choice *choice, enum plan_mode mode,
	       const struct pugmark_model *model, struct pugmark_plan **out);
/* The same, with the last use of *@program: it is freed, and NULL, before the plan takes its
 * memory.
 */
int plan_build_last(struct program **program, const struct choice *choice, enum plan_mode mode,
		    const struct pugmark_model *model, struct pugmark_plan **out);
/* How many sites the plan would have: one for each mark. */
uint32_t plan_count_sites(const struct program *program, const struct choice *choice);
/* The same as plan_build(); @node_of[block of the program] is set to its node, or 0 where it has
 * none. */
int plan_build_mapped(const struct program *program, const struct choice *choice,
		      enum plan_mode mode, const struct pugmark_model *model, uint32_t *node_of,
		      struct pugmark_plan **out);

#endif
