/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* receivers.h: which blocks __builtin_longjmp, a goto out of a nested function, or an exception
 * comes back to. */
#ifndef OFFLINE_RECEIVERS_H
#define OFFLINE_RECEIVERS_H

#include <pugmark/model.h>

#include <stdbool.h>

struct builder;

/* Sets PUGMARK_BLOCK_SETJMP_RETURN of the blocks that __builtin_longjmp, or a goto out of a nested
 * function, comes back to; what follows them is reached. Once jump tables are known. 0 or -ENOMEM.
 */
int receivers_find(struct builder *b);
/* The code address that the instruction makes a pointer of, or 0. */
uint64_t receivers_pointer_made(struct builder *b, uint32_t insn);
/* Whether the block is what one of these comes back to; whether @func has such a block. */
static inline bool block_is_receiver(const struct pugmark_block *block)
{
	return block->flags & PUGMARK_BLOCK_ADDRESS_TAKEN &&
	       block->flags & PUGMARK_BLOCK_SETJMP_RETURN;
}
bool receivers_are_in(const struct builder *b, const struct pugmark_func *func);

#endif
