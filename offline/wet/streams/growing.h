/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* growing.h: a stream of 32-bit numbers while it is made. What is complete is in blocks, as it will
 * be stored (block.h): other threads compress them; only the end stands as numbers. */
#ifndef OFFLINE_WET_GROWING_H
#define OFFLINE_WET_GROWING_H

#include "offline/wet/streams/block.h"

/* Threads that compress. All else is for one thread. */
struct wet_press;

struct wet_press *wet_press_new(void);
void wet_press_free(struct wet_press *press);
/* Returns when all that was handed over is compressed. False: memory was out. */
bool wet_press_wait(struct wet_press *press);

struct wet_piece; /* a block; streams that begin alike share it */

struct wet_growing {
	uint64_t n;	/* numbers */
	uint32_t *tail; /* those behind the pieces, at most WET_BLOCK */
	uint32_t room;	/* of @tail */
	uint32_t n_pieces, room_pieces;
	struct wet_piece **pieces;
};

void wet_growing_deinit(struct wet_growing *g);
/* Makes room for one more in @tail. */
bool wet_growing_room(struct wet_press *press, struct wet_growing *g);

static inline bool wet_growing_add(struct wet_press *press, struct wet_growing *g, uint32_t v)
{
	uint32_t at = g->n % WET_BLOCK;
	if ((!at || at == g->room) && !wet_growing_room(press, g))
		return false;
	g->tail[at] = v;
	g->n++;
	return true;
}

/* @to, which is empty, becomes the first @n of @from. False: out of memory. */
bool wet_growing_begin_as(struct wet_press *press, struct wet_growing *to,
			  const struct wet_growing *from, uint64_t n);
/* < 0, 0, > 0, an order of streams by what is in them. Both are to be complete, here and below:
 * behind wet_press_wait(). */
int wet_growing_compare(const struct wet_growing *a, const struct wet_growing *b);
/* The block of numbers i * WET_BLOCK and on; of the last one they may stand in @tail: false then.
 */
bool wet_growing_block(const struct wet_growing *g, uint32_t i, struct wet_block *out);
/* The first @n numbers. False: they cannot be read. */
bool wet_growing_read(const struct wet_growing *g, struct wet_blocks *blocks, uint64_t *to,
		      uint64_t n);

#endif
