/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* blocks.h: how long the blocks of the heap are, from the calls that made them: what realloc() has
 * moved, and what a fresh block holds, follows from it. */
#ifndef OFFLINE_REPLAY_MODELS_BLOCKS_H
#define OFFLINE_REPLAY_MODELS_BLOCKS_H

#include "offline/eval/memory/memory.h"

/* A table of numbers by number. Zeroed: empty. */
struct value_numbers {
	uint64_t *keys, *values; /* key 0: free */
	size_t n, room;
};

struct value_blocks {
	struct value_numbers lengths; /* by address */
	struct value_numbers moved;   /* by record: the length of what its realloc() has moved */
	uint64_t seen;		      /* records before this one were told already */
};

/* The call named @import has returned @result, as record @record says; @args are its first two.
 * Does to memory what the function did. Returns 0 or -ENOMEM. Going back and coming again is fine.
 */
int value_blocks_tell(struct value_blocks *blocks, struct value_memory *memory, const char *import,
		      const uint64_t args[2], uint64_t result, uint64_t record);
void value_blocks_deinit(struct value_blocks *blocks);

#endif
