// SPDX-License-Identifier: LGPL-2.1-or-later
/* foreign_code.c: see foreign_code.h. */
#include "offline/program/foreign_code.h"

enum { MANY = 64, ONE_IN = 16 };

/* Whether a return of function @f is where its frame has no known size, or is none of its own: the
 * caller's frame ends at the return address alone. */
static bool returns_anyhow(const struct pugmark_model *m, const struct pugmark_func *f)
{
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct pugmark_block *block = &m->blocks[b];
		if (block->end != PUGMARK_END_RET || !block->n_insns)
			continue;
		const struct pugmark_insn *ret = &m->insns[block->insn + block->n_insns - 1];
		struct pugmark_cfa cfa = pugmark_model_cfa_at(m, m->text_addr + ret->off);
		if (cfa.reg != PUGMARK_CFA_SP || cfa.offset != 8)
			return true;
	}
	return false;
}

static bool is_undescribed(const struct pugmark_model *m, uint32_t f)
{
	return f < m->n_funcs && m->funcs[f].flags & PUGMARK_FUNC_NO_CFI;
}

uint32_t foreign_code_find(const struct pugmark_model *m, bool *foreign)
{
	uint32_t found = 0, others = 0;
	for (uint32_t f = 0, end; f < m->n_funcs; f = end) {
		uint32_t anyhow = 0;
		for (end = f; is_undescribed(m, end); end++)
			anyhow += returns_anyhow(m, &m->funcs[end]);
		if (end == f) {
			others += m->funcs[end++].n_blocks != 0;
			continue;
		}
		bool is = end - f >= MANY && anyhow >= (end - f) / ONE_IN;
		for (uint32_t i = f; i < end; i++)
			foreign[i] = is;
		found += is ? end - f : 0;
		others += is ? 0 : end - f;
	}
	if (found && !others) {
		for (uint32_t f = 0; f < m->n_funcs; f++)
			foreign[f] = false;
		return 0;
	}
	return found;
}
