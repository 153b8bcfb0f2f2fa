/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_points.h: where in the grammar a thread is whose instruction pointer is known. */
#ifndef OFFLINE_PLAN_POINTS_H
#define OFFLINE_PLAN_POINTS_H

#include <pugmark/model.h>
#include <pugmark/plan.h>

#include "offline/program/program.h"

/* The code of a program in pieces, by address; of each, what can be next there. */
struct plan_pieces {
	struct piece *at;
	uint32_t n;
};

/* The pieces of @plan, whose sites and nodes are there: @node_of has the node of each block of
 * @program, or 0. 0, and pieces that the caller releases with plan_pieces_deinit(), or -ENOMEM. */
int plan_pieces_make(const struct program *program, const struct pugmark_model *model,
		     const uint32_t *node_of, const struct pugmark_plan *plan,
		     struct plan_pieces *out);
void plan_pieces_deinit(struct plan_pieces *pieces);
/* The points of @plan: its pieces, divided where the place of the frame changes. The program is not
 * needed for that. Sets plan->n_points and *@out, which the caller frees. 0 or -ENOMEM. */
int plan_points_join(const struct plan_pieces *pieces, const struct pugmark_model *model,
		     struct pugmark_plan *plan, struct pugmark_plan_point **out);

#endif
