// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_places.c: see plan_places.h. */
#include "offline/plan/plan_places.h"

#include "offline/plan/site_operand.h"

#include <zlib.h>

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

uint32_t plan_places_code(const struct pugmark_model *model)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < model->n_parts; i++) {
		const struct pugmark_part *part = &model->parts[i];
		size_t len;
		const uint8_t *bytes = pugmark_model_bytes(model, part->addr, &len);
		if (len > part->end - part->addr)
			len = part->end - part->addr;
		sum = crc32_z(sum, (const void *)&part->addr, sizeof(part->addr));
		if (bytes)
			sum = crc32_z(sum, bytes, len);
	}
	return sum;
}
