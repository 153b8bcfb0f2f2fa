// SPDX-License-Identifier: LGPL-2.1-or-later
/* callee_writes.c: which registers a call really overwrites. The calling convention lets a callee
 * overwrite nine of them. A compiler that sees the callee knows better, and keeps the base of a
 * jump table across the call in one that the callee does not touch. A callee is known if all of its
 * instructions are: no indirect call or jump but through a table, nothing that leaves the module,
 * and every callee of its own known. */
#include "offline/code/backslice.h"

/* LEVELS: how deep callees of callees are followed; each takes a few hundred bytes of stack. */
enum { LEVELS = 16 };
enum state { UNSEEN, UNDER_WAY, KNOWN }; /* low bits of a row; the registers are above them */
enum { STATE_BITS = 2, STATE_MASK = 3 };
static const uint16_t all_registers = UINT16_MAX;

static uint16_t writes_of_function(struct backslice *s, uint32_t func, int level);

/* The registers that are written by what the last instruction of a block calls or jumps to, outside
 * of the function. */
static uint16_t writes_of_site(struct backslice *s, const struct pugmark_block *block, int level)
{
	const struct builder *b = s->b;
	if (block->site == PUGMARK_NONE)
		return block->end == PUGMARK_END_OPEN || block->end == PUGMARK_END_STRAY
			       ? all_registers
			       : 0;
	const struct pugmark_site *site = &b->sites.at[block->site];
	uint32_t n = block->flags & PUGMARK_BLOCK_TWO_SITES ? 2 : 1;
	uint16_t writes = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (site[i].via != PUGMARK_VIA_DIRECT || site[i].target == PUGMARK_NONE ||
		    level == LEVELS)
			return all_registers;
		writes |= writes_of_function(s, site[i].target, level + 1);
	}
	return writes;
}

static uint16_t gather(struct backslice *s, uint32_t func, int level)
{
	const struct builder *b = s->b;
	const struct pugmark_func *f = &b->funcs.at[func];
	uint16_t writes = f->n_blocks ? 0 : all_registers;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *block = &b->blocks.at[i];
		for (uint32_t k = block->insn; k < block->insn + block->n_insns; k++) {
			const struct sem *sem = backslice_sem(s, k);
			if (!sem || !s->budget)
				return all_registers;
			s->budget--;
			if (sem->op != SEM_CALL)
				writes |= sem->writes;
		}
		writes |= writes_of_site(s, block, level);
		if (writes == all_registers)
			break;
	}
	return writes;
}

/* A function that is still under way calls itself: it is taken to overwrite everything. */
static uint16_t writes_of_function(struct backslice *s, uint32_t func, int level)
{
	uint32_t *row = &s->callee[func];
	if ((*row & STATE_MASK) == KNOWN)
		return (uint16_t)(*row >> STATE_BITS);
	if ((*row & STATE_MASK) == UNDER_WAY)
		return all_registers;
	*row = UNDER_WAY;
	uint16_t writes = gather(s, func, level);
	*row = (uint32_t)writes << STATE_BITS | KNOWN;
	return writes;
}

uint16_t backslice_call_writes(struct backslice *s, uint32_t insn)
{
	const struct sem *sem = backslice_sem(s, insn);
	if (!sem)
		return all_registers;
	uint16_t allowed = sem->writes;
	if (s->b->insns.at[insn].kind != PUGMARK_INSN_CALL)
		return allowed;
	uint32_t func = builder_func_starting(s->b, builder_insn_target(s->b, insn));
	return func == PUGMARK_NONE ? allowed : allowed & writes_of_function(s, func, 0);
}
