/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* paths.h: nodes of a WET: runs of blocks that are executed one behind the other without going
 * back, calling or returning (what is left of a Ball-Larus path between calls), so that one
 * timestamp does for all blocks of a run (section 3.1 of the WET paper). */
#ifndef OFFLINE_WET_PATHS_H
#define OFFLINE_WET_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WET_PATH_BLOCKS = 64 };

/* The node of each sequence of blocks. */
struct wet_paths {
	uint32_t *blocks; /* of all nodes, one behind the other */
	size_t n_blocks, room_blocks;
	uint32_t *first, *length; /* of a node, in @blocks */
	uint32_t n, room;
	uint32_t *slots; /* a hash table of nodes + 1 */
	uint32_t n_slots;
	uint32_t now[WET_PATH_BLOCKS]; /* the path that is being executed */
	uint32_t n_now;
	uint64_t last; /* address of its last block */
};

void wet_paths_deinit(struct wet_paths *paths);
/* Whether a block at @addr belongs to the path that is being executed. */
static inline bool wet_paths_goes_on(const struct wet_paths *p, uint64_t addr)
{
	return p->n_now && p->n_now < WET_PATH_BLOCKS && addr > p->last;
}
/* The next block. The path before must have been ended where wet_paths_goes_on() says no. */
static inline void wet_paths_add(struct wet_paths *p, uint32_t block, uint64_t addr)
{
	p->now[p->n_now++] = block;
	p->last = addr;
}
/* The path is over: its node, a new one (*@fresh) or one that was seen. @likely: the node that is
 * looked at first, if there is one of that number. UINT32_MAX: out of memory. */
uint32_t wet_paths_end(struct wet_paths *p, uint32_t likely, bool *fresh);

#endif
