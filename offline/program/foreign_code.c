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

/* Whether function @f leaves by jumps alone, never by a return, and no other module calls it by
 * name, as that would a table of jumps: then it may be entered by jumps alone, in a frame of
 * another one. */
static bool only_jumps(const struct pugmark_model *m, const struct pugmark_func *f)
{
	bool jumps = false;
	if (f->flags & PUGMARK_FUNC_EXPORTED)
		return false;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		if (m->blocks[b].end == PUGMARK_END_RET)
			return false;
		jumps |= m->blocks[b].end == PUGMARK_END_TAIL ||
			 m->blocks[b].end == PUGMARK_END_OPEN;
	}
	return jumps;
}

static bool is_undescribed(const struct pugmark_model *m, uint32_t f)
{
	return f < m->n_funcs && m->funcs[f].flags & PUGMARK_FUNC_NO_CFI;
}

/* One function behind the other, none with call frame information: [first, end). */
struct run {
	uint32_t first, end;
	bool jumps;  /* most leave by jumps alone */
	bool anyhow; /* many return from frames of no known size */
};

static struct run run_at(const struct pugmark_model *m, uint32_t first)
{
	struct run run = {.first = first, .end = first};
	uint32_t jumps = 0, anyhow = 0;
	for (; is_undescribed(m, run.end); run.end++) {
		jumps += only_jumps(m, &m->funcs[run.end]);
		anyhow += returns_anyhow(m, &m->funcs[run.end]);
	}
	uint32_t n = run.end - first;
	run.jumps = 2 * jumps > n;
	run.anyhow = n >= MANY && anyhow >= n / ONE_IN;
	return run;
}

/* Whether there is a long run whose functions leave by jumps: then a short one is of the same
 * compiler's, as GHC's run-time system has some between functions in C. */
static bool has_long_run_of_jumps(const struct pugmark_model *m)
{
	for (uint32_t f = 0; f < m->n_funcs;) {
		struct run run = run_at(m, f);
		if (run.jumps && run.end - f >= MANY)
			return true;
		f = run.end + (run.end == f);
	}
	return false;
}

uint32_t foreign_code_find(const struct pugmark_model *m, bool *foreign)
{
	uint32_t found = 0, others = 0;
	bool by_jumps = has_long_run_of_jumps(m);
	for (uint32_t f = 0; f < m->n_funcs;) {
		struct run run = run_at(m, f);
		if (run.end == f) {
			others += m->funcs[f++].n_blocks != 0;
			continue;
		}
		bool is = run.anyhow || (by_jumps && run.jumps);
		for (; f < run.end; f++)
			foreign[f] = is;
		*(is ? &found : &others) += run.end - run.first;
	}
	if (found && !others) {
		for (uint32_t f = 0; f < m->n_funcs; f++)
			foreign[f] = false;
		return 0;
	}
	return found;
}
