// SPDX-License-Identifier: LGPL-2.1-or-later
/* arena.c: memory that a machine holds until it is freed: its blocks and what they are made of. */
#include "offline/eval/machine_impl.h"

#include <stdlib.h>

enum { ARENA = 1 << 20 }; /* bytes of a chunk */

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

void *value_arena(struct value_machine *m, size_t size)
{
	size = (size + 15) & ~(size_t)15;
	struct arena_chunk *chunk = m->arena;
	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = size > ARENA ? size : ARENA;
		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->used = 0;
		chunk->size = room;
		chunk->next = m->arena;
		m->arena = chunk;
	}
	chunk->used += size;
	return chunk->bytes + chunk->used - size;
}

void value_arena_free(struct value_machine *m)
{
	while (m->arena) {
		struct arena_chunk *chunk = m->arena;
		m->arena = chunk->next;
		free(chunk);
	}
}
