// SPDX-License-Identifier: LGPL-2.1-or-later
/* foreign_code.c: see foreign_code.h. */
#include "offline/program/foreign_code.h"

#include "offline/base/search.h"
#include "offline/code/semantics.h"

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

/* Whether the first block of function @f takes rbp, as its caller left it, for an address. By the
 * psABI (3.2.1) rbp is the caller's own, and a callee learns nothing from it: a function that keeps
 * to that sets rbp before it reads by it, and a stub that only jumps on does neither. */
static bool reads_by_callers_bp(const struct pugmark_model *m, const struct pugmark_func *f)
{
	if (!f->n_blocks)
		return false;
	ZydisDecoder decoder;
	sem_decoder_init(&decoder);
	const struct pugmark_block *entry = &m->blocks[f->block];
	for (uint32_t i = 0; i < entry->n_insns; i++) {
		const struct pugmark_insn *insn = &m->insns[entry->insn + i];
		uint64_t addr = m->text_addr + insn->off;
		size_t len;
		const uint8_t *bytes = pugmark_model_bytes(m, addr, &len);
		struct sem sem;
		if (!bytes || len < insn->len ||
		    !sem_decode(&decoder, bytes, insn->len, addr, &sem))
			return false;
		if ((sem.memory || sem.op == SEM_LEA) && sem.base == REG_BP)
			return true;
		if (sem_writes(&sem, REG_BP) && sem.op != SEM_ADD_IMM)
			return false;
	}
	return false;
}

/* Whether function @f leaves by jumps alone, never by a return: then it may be entered by jumps
 * alone, in a frame of another one. */
static bool only_jumps(const struct pugmark_model *m, const struct pugmark_func *f)
{
	bool jumps = false;
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
	bool jumps;  /* most leave by jumps alone, and have a stack of their own */
	bool anyhow; /* many return from frames of no known size */
};

/* Whether many functions of @run read by the rbp that they are entered with. */
static bool has_own_stack(const struct pugmark_model *m, const struct run *run)
{
	uint32_t left = (run->end - run->first) / ONE_IN + 1;
	for (uint32_t f = run->first; f < run->end && left; f++)
		left -= reads_by_callers_bp(m, &m->funcs[f]);
	return !left;
}

static struct run run_at(const struct pugmark_model *m, uint32_t first)
{
	struct run run = {.first = first, .end = first};
	uint32_t jumps = 0, anyhow = 0;
	for (; is_undescribed(m, run.end); run.end++) {
		const struct pugmark_func *f = &m->funcs[run.end];
		jumps += only_jumps(m, f);
		anyhow += returns_anyhow(m, f);
	}
	uint32_t n = run.end - first;
	/* What else jumps on are stubs, and functions that end by calling another one. */
	run.jumps = 2 * jumps > n && has_own_stack(m, &run);
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

bool foreign_code_is_around(const struct pugmark_model *m, const bool *foreign,
			    struct pugmark_range range)
{
	uint32_t behind = SEARCH_FIRST_NOT(0, m->n_funcs, i, m->funcs[i].addr < range.addr);
	if (behind == m->n_funcs || !foreign[behind])
		return false;
	return range.end == m->funcs[behind].addr || (behind && foreign[behind - 1]);
}
