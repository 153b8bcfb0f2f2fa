// SPDX-License-Identifier: LGPL-2.1-or-later
/* receivers.c: places in the middle of a function that somebody else can come back to, since its
 * own code takes their address, or a function that leaves its stack for good does. */
#include "offline/code/receivers.h"

#include "offline/code/builder.h"
#include "offline/code/stack_switch.h"

#include <errno.h>
#include <stdlib.h>

/* In code that may be loaded anywhere only lea makes pointers: other constants are numbers. */
uint64_t receivers_pointer_made(struct builder *b, uint32_t i)
{
	const uint8_t *bytes = builder_insn_bytes(b, i);
	uint8_t len = b->insns.at[i].len;
	bool lea = len >= 7 && (bytes[0] & 0xf8) == 0x48 && bytes[1] == 0x8d;
	struct pugmark_insn insn = {0};
	struct decoded_refs refs;
	if (len < 5 || (elf_image_is_pie(b->image) && !lea) ||
	    !decode_insn(&b->decoder, bytes, len, insn_addr(b, i), &insn, &refs))
		return 0;
	return refs.pointer;
}

static void mark_receiver(struct builder *b, const struct pugmark_func *f, uint64_t addr)
{
	for (uint32_t k = f->block + 1; k < f->block + f->n_blocks; k++)
		if (b->blocks.at[k].addr == addr)
			b->blocks.at[k].flags |= PUGMARK_BLOCK_SETJMP_RETURN;
}

/* Whether the pointer that instruction @i makes is pushed at once. Then it is a handler that OCaml
 * raises to, and nothing that the function itself jumps to. */
static bool pushes_pointer(const struct builder *b, uint32_t i)
{
	const uint8_t *lea = builder_insn_bytes(b, i);
	bool high = lea[0] & 4;
	if (i + 1 >= b->insns.n || b->insns.at[i].len != 7 || lea[1] != 0x8d)
		return false;
	const uint8_t *push = builder_insn_bytes(b, i + 1);
	return b->insns.at[i + 1].len == 1 + high && (!high || push[0] == 0x41) &&
	       push[high] == (0x50 | (lea[2] >> 3 & 7));
}

/* Marks the labels of @f whose address an instruction of @f takes, where no jump of the function
 * goes by it: then __builtin_longjmp in another function goes there, or an exception. */
static void mark_all_of(struct builder *b, const struct pugmark_func *f)
{
	bool may = false, open = f->flags & PUGMARK_FUNC_OPEN_JUMP;
	for (uint32_t k = f->block + 1; k < f->block + f->n_blocks; k++)
		may |= !!(b->blocks.at[k].flags & PUGMARK_BLOCK_ADDRESS_TAKEN);
	for (uint32_t k = f->block; may && k < f->block + f->n_blocks; k++) {
		const struct pugmark_block *block = &b->blocks.at[k];
		for (uint32_t i = block->insn; i < block->insn + block->n_insns; i++) {
			uint64_t addr = receivers_pointer_made(b, i);
			if (addr && in_text(b, addr) && (!open || pushes_pointer(b, i)))
				mark_receiver(b, f, addr);
		}
	}
	may &= !open && receivers_are_in(b, f);
	for (uint32_t k = f->block; may && k < f->block + f->n_blocks; k++) {
		const struct pugmark_block *from = &b->blocks.at[k];
		for (uint32_t i = from->edge; i < from->edge + from->n_edges; i++) {
			struct pugmark_block *to = &b->blocks.at[b->edges.at[i].to];
			if (b->edges.at[i].kind != PUGMARK_EDGE_TABLE || !block_is_receiver(to))
				continue;
			to->flags &= (uint8_t)~PUGMARK_BLOCK_SETJMP_RETURN;
		}
	}
}

/* Marks the labels of other functions whose address an instruction of @f takes, where @f leaves its
 * stack for good: GCC's nested functions do so for a goto to a label of the function around them.
 */
static void mark_gone_to(struct builder *b, const struct pugmark_func *f)
{
	bool leaves = false;
	for (uint32_t k = f->block; k < f->block + f->n_blocks && !leaves; k++)
		leaves = block_leaves(&b->blocks.at[k], b->insns.at);
	for (uint32_t k = f->block; leaves && k < f->block + f->n_blocks; k++) {
		const struct pugmark_block *block = &b->blocks.at[k];
		for (uint32_t i = block->insn; i < block->insn + block->n_insns; i++) {
			uint64_t addr = receivers_pointer_made(b, i);
			uint32_t part =
				addr && in_text(b, addr) ? builder_part_at(b, addr) : PUGMARK_NONE;
			const struct pugmark_func *to =
				part == PUGMARK_NONE ? f : &b->funcs.at[b->parts.at[part].func];
			if (to != f)
				mark_receiver(b, to, addr);
		}
	}
}

bool receivers_are_in(const struct builder *b, const struct pugmark_func *f)
{
	for (uint32_t k = f->block; k < f->block + f->n_blocks; k++)
		if (block_is_receiver(&b->blocks.at[k]))
			return true;
	return false;
}

int receivers_find(struct builder *b)
{
	int err = 0;
	for (uint32_t i = 0; i < b->funcs.n; i++)
		mark_all_of(b, &b->funcs.at[i]);
	for (uint32_t i = 0; i < b->funcs.n; i++)
		mark_gone_to(b, &b->funcs.at[i]);
	for (uint32_t i = 0; i < b->funcs.n && !err; i++) {
		const struct pugmark_func *f = &b->funcs.at[i];
		if (!receivers_are_in(b, f))
			continue;
		uint32_t *stack = malloc(f->n_blocks * sizeof(*stack));
		if (stack)
			builder_mark_reached(b->blocks.at + f->block, f->n_blocks, b->edges.at,
					     f->block, stack);
		err = stack ? 0 : -ENOMEM;
		free(stack);
	}
	return err;
}
