/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_marks.h: the plan whose sites shares have: all that may be told, whoever tells it. */
#ifndef OFFLINE_SHARE_SHARE_MARKS_H
#define OFFLINE_SHARE_SHARE_MARKS_H

#include "offline/choose/choose.h"

struct share_whole {
	struct pugmark_plan *plan;
	uint8_t *marks;	   /* per block of the program: enum mark */
	uint32_t *node_of; /* per block: its node of the plan, or 0 */
	float *site_ns;	   /* per site: what it is expected to cost in a run */
	uint8_t *events;   /* per site: it tells which function was entered from anywhere: an entry
			      that no direct call announces, or a call of what is not known */
	uint8_t *all;	   /* per site: every share has to see it */
	uint8_t *some;	   /* per site: it reads what nothing else tells: some share has to */
};

/* Marks each block (paths), or each call, that can carry a mark, and makes the plan of that; with
 * @given, one a block, it marks those and what else it takes for every decision to hold. 0 or
 * -ENOMEM; the caller releases. */
int share_whole_make(const struct program *program, const struct pugmark_model *model, bool paths,
		     const uint8_t *given, struct share_whole *out);
void share_whole_deinit(struct share_whole *whole);

#endif
