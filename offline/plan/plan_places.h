/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_places.h: whether the probes of a plan stand on the starts of instructions of the binary. A
 * probe in the middle of an instruction would break the program. A build-id does not rule that out:
 * tools that move code keep it, and any file can be given one. */
#ifndef OFFLINE_PLAN_PLACES_H
#define OFFLINE_PLAN_PLACES_H

#include <pugmark/model.h>
#include <pugmark/plan.h>

enum plan_place {
	PLACE_HOLDS,
	PLACE_NO_INSN,	/* no instruction begins there that may be probed as the plan says */
	PLACE_NO_FRAME, /* the frame is not where the plan says */
};

/* Of probe @site of @plan in the binary that @model is of. */
enum plan_place plan_place_of(const struct pugmark_plan *plan, uint32_t site,
			      const struct pugmark_model *model);
/* Whether all probes of @plan hold there. */
bool plan_places_hold(const struct pugmark_plan *plan, const struct pugmark_model *model);

#endif
