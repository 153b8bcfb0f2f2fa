/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_points.h: where in the grammar a thread is whose instruction pointer is known. */
#ifndef OFFLINE_PLAN_POINTS_H
#define OFFLINE_PLAN_POINTS_H

#include <pugmark/model.h>
#include <pugmark/plan.h>

#include "offline/program/program.h"

/* The points of @plan, whose other parts are there: @node_of has the node of each block of
 * @program, or 0. Sets plan->n_points and *@out, which the caller frees. 0 or -ENOMEM. */
int plan_points(const struct program *program, const struct pugmark_model *model,
		const uint32_t *node_of, struct pugmark_plan *plan,
		struct pugmark_plan_point **out);

#endif
