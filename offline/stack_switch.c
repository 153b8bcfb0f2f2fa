// SPDX-License-Identifier: LGPL-2.1-or-later
/* stack_switch.c: functions that go on on another stack, and the calls that may come back on one.
 * swapcontext() and its like are known by name (elf_libc.c). A switch written by hand is known by
 * its code: it takes the stack pointer from one of its arguments, or from memory that one points to
 * or that is global, where compilers only ever set it from the frame itself (alloca and arrays of a
 * variable length). What jumps to such a function switches as well; and where the address of one is
 * taken, any indirect call may. */
#include "offline/stack_switch.h"

#include "offline/builder.h"
#include "offline/semantics.h"

#include <errno.h>

/* rcx, rdx, rsi, rdi, r8, r9: where the System V ABI passes arguments. */
#define ARGUMENTS 0x03c6

bool stack_switch_may_load(const uint8_t *bytes, uint8_t len_bytes)
{
	if (len_bytes < 3 || (bytes[0] & 0xf8) != 0x48)
		return false;
	uint8_t rex = bytes[0], modrm = bytes[2];
	bool reg_is_sp = (modrm >> 3 & 7) == REG_SP && !(rex & 4);
	bool rm_is_sp = modrm >> 6 == 3 && (modrm & 7) == REG_SP && !(rex & 1);
	return (bytes[1] == 0x8b && reg_is_sp) || (bytes[1] == 0x89 && rm_is_sp);
}

/* Which registers hold arguments, or what was reached through them, after @sem; before it @held. */
static uint16_t held_after(uint16_t held, const struct sem *sem)
{
	bool keeps = false;
	switch (sem->op) {
	case SEM_COPY:
		keeps = sem->size == 8 && held >> sem->src & 1;
		break;
	case SEM_LOAD:
		keeps = sem->size == 8 &&
			(sem->base == REG_NONE ? sem->index == REG_NONE : held >> sem->base & 1);
		break;
	case SEM_LEA:
		keeps = sem->base != REG_NONE && held >> sem->base & 1;
		break;
	case SEM_ADD_IMM:
		keeps = held >> sem->dst & 1;
		break;
	default:
		break;
	}
	held &= ~sem->writes;
	return keeps && sem->dst < 16 ? held | 1 << sem->dst : held;
}

/* Whether one of the instructions from @first up to @end, which a function begins with, takes the
 * stack pointer from elsewhere. They are read in the order of their addresses. */
static bool switches(struct builder *b, const ZydisDecoder *decoder, uint32_t first, uint32_t end)
{
	uint16_t held = ARGUMENTS;
	for (uint32_t i = first; i < end; i++) {
		struct sem sem;
		if (!sem_decode(decoder, builder_insn_bytes(b, i), b->insns.at[i].len,
				insn_addr(b, i), &sem))
			return false;
		held = held_after(held, &sem);
		if (held >> REG_SP & 1)
			return true;
	}
	return false;
}

static void find_written_by_hand(struct builder *b)
{
	ZydisDecoder decoder;
	sem_decoder_init(&decoder);
	for (uint32_t f = 0; f < b->funcs.n; f++) {
		struct pugmark_func *func = &b->funcs.at[f];
		const struct build_part *part = &b->parts.at[b->func_parts.at[func->part]];
		uint32_t first = insn_at(b, part->addr), end = insn_at(b, part->end);
		bool may = false;
		for (uint32_t i = first; i < end && !may; i++)
			may = stack_switch_may_load(builder_insn_bytes(b, i), b->insns.at[i].len);
		if (func->n_blocks && may && switches(b, &decoder, first, end))
			func->flags |= FUNC_SWITCHES;
	}
}

/* What the call returns to may be reached on another stack. */
static void mark_call(struct builder *b, struct pugmark_site *site)
{
	struct pugmark_block *block = &b->blocks.at[site->block];
	site->flags |= SITE_SWITCHES;
	for (uint32_t i = block->edge; site->kind == SITE_CALL && i < block->edge + block->n_edges;
	     i++)
		if (b->edges.at[i].kind == EDGE_RETURN)
			b->blocks.at[b->edges.at[i].to].flags |= BLOCK_SETJMP_RETURN;
}

int stack_switch_solve(struct builder *b)
{
	uint8_t *jumps = calloc((size_t)b->funcs.n + 1, 1); /* to one that switches */
	if (!jumps)
		return -ENOMEM;
	bool taken = false, grew = true;
	find_written_by_hand(b);
	for (uint32_t f = 0; f < b->funcs.n; f++) {
		jumps[f] = !!(b->funcs.at[f].flags & FUNC_SWITCHES);
		taken |= jumps[f] && b->funcs.at[f].flags & FUNC_ADDRESS_TAKEN;
	}
	while (grew) {
		grew = false;
		for (uint32_t i = 0; i < b->sites.n; i++) {
			struct pugmark_site *site = &b->sites.at[i];
			bool to = site->flags & SITE_SWITCHES ||
				  (site->target != PUGMARK_NONE && jumps[site->target]) ||
				  (site->via == VIA_INDIRECT && taken);
			if (!to)
				continue;
			mark_call(b, site);
			grew |= site->kind == SITE_TAIL && !jumps[site->func];
			jumps[site->func] |= site->kind == SITE_TAIL;
		}
	}
	free(jumps);
	return 0;
}
