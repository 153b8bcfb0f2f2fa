/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* site_operand.h: what a probe needs to know of the instruction it stands on. */
#ifndef OFFLINE_SITE_OPERAND_H
#define OFFLINE_SITE_OPERAND_H

#include <pugmark/plan.h>

struct site_operand {
	uint8_t probe; /* enum pugmark_probe_class */
	uint8_t cond;
	struct pugmark_plan_operand target; /* of an indirect call or jump */
};

/* Decodes the instruction at @addr of @model. 0, or -EINVAL where no instruction starts there. */
int site_operand_at(const struct pugmark_model *model, uint64_t addr, struct site_operand *out);

#endif
