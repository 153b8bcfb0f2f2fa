/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flow.h: which node was executed behind which, in blocks that are compressed each for itself. The
 * next node is guessed by the four before it: the one that came behind these the last time, in the
 * block. Of a block, in columns:
 *
 *   runs    how many guesses in a row were right: before each that was not, and before the end
 *   nodes   what came instead
 */
#ifndef OFFLINE_WET_FLOW_H
#define OFFLINE_WET_FLOW_H

#include "offline/wet/streams/columns.h"

enum { FLOW_RUNS, FLOW_NODES, FLOW_COLUMNS };
enum { FLOW_GUESS_BITS = 16 };

/* Guesses are numbers of nodes + 1; 0: none yet. */
struct wet_guesses {
	uint32_t at[1 << FLOW_GUESS_BITS];
	uint64_t last; /* the last four nodes, those that have more than 16 bits mixed */
};

static inline uint32_t *wet_guess(struct wet_guesses *g)
{
	return &g->at[g->last * 0x9e3779b97f4a7c15 >> (64 - FLOW_GUESS_BITS)];
}
static inline void wet_guess_next(struct wet_guesses *g, uint32_t node)
{
	g->last = g->last << 16 ^ node;
}

/* While a block is made; zeros: an empty one. */
struct wet_flow {
	struct wet_guesses *guesses;
	struct bytes columns[FLOW_COLUMNS];
	uint64_t right; /* guesses in a row */
	bool no_memory;
};

void wet_flow_deinit(struct wet_flow *flow);
void wet_flow_add(struct wet_flow *flow, uint32_t node);
/* Appends the block to @to, and begins another one. False: out of memory. */
bool wet_flow_end(struct wet_flow *flow, struct bytes *to);

/* The @n nodes, of @n_nodes that there are, that the @len bytes at @at are. 0; -EBADMSG: they are
 * not; -ENOTSUP or -ENOMEM. */
int wet_flow_read(struct codec *codec, const uint8_t *at, size_t len, uint32_t n_nodes, uint64_t n,
		  uint32_t *nodes);

#endif
