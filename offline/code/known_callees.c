// SPDX-License-Identifier: LGPL-2.1-or-later
/* known_callees.c: follows the register or memory that a call goes by back to a constant. */
#include "offline/code/known_callees.h"

#include "offline/code/backslice.h"

#include <errno.h>
#include <string.h>

enum { MAX_COPIES = 8 };

/* Whether the instruction names a place of which something is known, or is a 64-bit constant that
 * may be the distance of one from an address. */
static bool names_known(struct builder *b, uint32_t insn)
{
	enum { DISTANCE_BITS = 40 };
	const uint8_t *bytes = builder_insn_bytes(b, insn);
	uint8_t len = b->insns.at[insn].len;
	if (len == 10 && (bytes[0] & 0xfe) == 0x48 && (bytes[1] & 0xf8) == 0xb8) {
		int64_t value;
		memcpy(&value, bytes + 2, sizeof(value));
		int64_t high = value >> DISTANCE_BITS;
		return !high || high == -1;
	}
	bool by_rip = len == 7 && (bytes[0] & 0xf8) == 0x48 && (bytes[2] & 0xc7) == 5 &&
		      (bytes[1] == 0x8b || bytes[1] == 0x8d);
	bool imm = (len == 5 && (bytes[0] & 0xf8) == 0xb8) ||
		   (len == 6 && bytes[0] == 0x41 && (bytes[1] & 0xf8) == 0xb8);
	if (!by_rip && !imm)
		return false;
	int32_t rel;
	memcpy(&rel, bytes + len - sizeof(rel), sizeof(rel));
	uint64_t addr = by_rip ? insn_addr(b, insn) + len + (uint64_t)(int64_t)rel : (uint32_t)rel;
	return builder_flags_of(b, addr) != 0;
}

/* Whether the block ends with a call or jump by a register, or by memory that it does not name. */
static bool goes_by_pointer(const struct builder *b, const struct pugmark_block *block)
{
	uint32_t last = block->insn + block->n_insns - 1;
	const struct pugmark_insn *insn = &b->insns.at[last];
	uint8_t reg;
	if (insn->kind == PUGMARK_INSN_CALL)
		return builder_calls_register(b, insn_addr(b, last), &reg);
	return (insn->kind == PUGMARK_INSN_CALL_IND || insn->kind == PUGMARK_INSN_JMP_IND) &&
	       !decode_slot(insn, builder_insn_bytes(b, last), insn_addr(b, last));
}

static bool may_have(struct builder *b, const struct pugmark_func *f)
{
	bool any = false, named = false;
	for (uint32_t k = f->block; k < f->block + f->n_blocks && !any; k++)
		any = goes_by_pointer(b, &b->blocks.at[k]);
	for (uint32_t k = f->block; any && k < f->block + f->n_blocks && !named; k++) {
		const struct pugmark_block *block = &b->blocks.at[k];
		for (uint32_t i = block->insn; i < block->insn + block->n_insns && !named; i++)
			named = names_known(b, i);
	}
	return named;
}

/* The place that @loc leads to at @at: the constant that it holds, or, *@slot, the GOT slot that it
 * was loaded from. 0: not known. */
static uint64_t place_of(struct backslice *s, struct loc loc, struct place at, bool *slot)
{
	struct place defs[SLICE_MAX_DEFS];
	uint64_t addr;
	*slot = false;
	if (backslice_const(s, loc, at, &addr))
		return addr;
	for (int i = 0; i < MAX_COPIES && backslice_defs(s, loc, at, defs) == 1; i++) {
		struct sem sem = *backslice_sem(s, defs[0].insn);
		at = defs[0];
		bool on_stack = sem.index == REG_NONE && (sem.base == REG_SP || sem.base == REG_BP);
		if (sem.size != 8)
			return 0;
		if (sem.op == SEM_LOAD && !on_stack) {
			*slot = true;
			return backslice_const_operand(s, &sem, at, &addr) ? addr : 0;
		}
		if (sem.op == SEM_LOAD)
			loc = (struct loc){sem.base, true, sem.disp};
		else if ((sem.op == SEM_COPY || sem.op == SEM_STORE) && sem.src != REG_NONE)
			loc = (struct loc){.reg = sem.src};
		else
			return 0;
	}
	return 0;
}

static int look_at(struct backslice *s, uint32_t block)
{
	struct builder *b = s->b;
	const struct pugmark_block *at = &s->flow->blocks.at[block];
	uint32_t insn = at->insn + at->n_insns - 1;
	struct place place = {block, insn};
	const struct sem *found = backslice_sem(s, insn);
	if (!found)
		return -ENOMEM;
	struct sem sem = *found;
	uint64_t addr = 0;
	uint8_t reg;
	if (builder_calls_register(b, insn_addr(b, insn), &reg))
		sem.src = reg;
	bool slot = sem.memory;
	if (sem.memory)
		backslice_const_operand(s, &sem, place, &addr);
	else if (sem.src != REG_NONE)
		addr = place_of(s, (struct loc){.reg = sem.src}, place, &slot);
	/* What is called is code, or code that a slot leads to: never the slot itself. */
	if (!addr || slot == (builder_code_at(b, addr) != NULL))
		return 0;
	if (builder_func_starting(b, addr) == PUGMARK_NONE &&
	    elf_image_import_at(b->image, addr) == PUGMARK_NONE)
		return 0;
	return VEC_PUSH(&b->known_callees, (struct known_callee){insn, addr}) ? 0 : -ENOMEM;
}

static int compare_insns(const void *a, const void *b)
{
	const struct known_callee *x = a, *y = b;
	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

int known_callees_find(struct builder *b, struct backslice *s, bool *changed)
{
	struct cfg flow = {0};
	int err = 0;
	b->known_callees.n = 0;
	for (uint32_t i = 0; i < b->funcs.n && !err; i++) {
		if (!may_have(b, &b->funcs.at[i]))
			continue;
		err = cfg_build(b, i, &flow);
		if (!err)
			err = backslice_enter(s, &flow);
		for (uint32_t k = 0; k < flow.blocks.n && !err; k++)
			if (goes_by_pointer(b, &flow.blocks.at[k]))
				err = look_at(s, k);
	}
	cfg_deinit(&flow);
	if (b->known_callees.n)
		qsort(b->known_callees.at, b->known_callees.n, sizeof(*b->known_callees.at),
		      compare_insns);
	*changed |= b->known_callees.n > 0;
	return err;
}
