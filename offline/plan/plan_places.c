// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_places.c: see plan_places.h. */
#include "offline/plan/plan_places.h"

#include "offline/plan/site_operand.h"

enum plan_place plan_place_of(const struct pugmark_plan *plan, uint32_t site,
			      const struct pugmark_model *model)
{
	const struct pugmark_plan_site *s = &plan->sites[site];
	struct site_operand operand;
	if (site_operand_at(model, s->addr, &operand) || operand.probe != s->probe ||
	    pugmark_model_file_offset(model, s->addr) != s->off_file)
		return PLACE_NO_INSN;
	struct pugmark_cfa cfa = pugmark_model_cfa_at(model, s->addr);
	bool frame = s->cfa_reg == PUGMARK_CFA_UNKNOWN ||
		     (cfa.reg == s->cfa_reg && cfa.offset == s->cfa_off) ||
		     (s->cfa_reg == PUGMARK_CFA_SP && !s->cfa_off);
	return frame ? PLACE_HOLDS : PLACE_NO_FRAME;
}

bool plan_places_hold(const struct pugmark_plan *plan, const struct pugmark_model *model)
{
	for (uint32_t i = 0; i < plan->n_sites; i++)
		if (plan_place_of(plan, i, model) != PLACE_HOLDS)
			return false;
	return true;
}
