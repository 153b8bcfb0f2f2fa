/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* misses.h: a simple processor, fed with the blocks of a run: which loads and stores would have
 * missed its cache, and which conditional jumps it would have mispredicted. The cache has 32 KiB in
 * lines of 64 bytes, eight ways, the least recently used one goes; an access that lies in two lines
 * touches both, and misses if one of them is not there. The predictor is gshare, 4,096 counters of
 * two bits by the address and the last 12 ways. Nothing but blocks touches the cache: not
 * libraries, nor the kernel. A string instruction (rep movs) has no operands here. */
#ifndef OFFLINE_MISSES_MISSES_H
#define OFFLINE_MISSES_MISSES_H

#include "offline/dep/reads.h"

enum miss_what { MISS_JUMP, MISS_LOAD, MISS_STORE };

struct miss_event {
	const struct dep_block *block;
	uint16_t insn;	  /* index in the block */
	uint16_t operand; /* 0: the block's last jump; else which of its loads and stores, from 1 */
	uint8_t what;	  /* enum miss_what */
	bool miss;	  /* of a jump: mispredicted */
	bool taken;	  /* of a jump */
	uint64_t address; /* of a load or a store */
	const uint64_t *results; /* those of the instruction, in the trace */
};

/* Is told of each in the order of execution. False: out of memory, which the feeder is told. */
typedef bool miss_fn(void *ctx, const struct miss_event *event);

struct misses;

/* NULL: out of memory. */
struct misses *misses_new(miss_fn *fn, void *ctx);
void misses_free(struct misses *misses);
/* The next block that was executed, with its addresses and results as dep_watch_fn has them. A jump
 * at its end is told when the next block shows where it went. False: @fn has said so. */
bool misses_block(struct misses *misses, const struct dep_block *block, const uint64_t *addresses,
		  const uint64_t *results);
/* What comes next does not follow what came: where the last jump went is not known. */
void misses_break(struct misses *misses);

#endif
