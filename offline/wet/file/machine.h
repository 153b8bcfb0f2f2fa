/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* machine.h: what a simple processor (misses.h) would have made of a run, a bit an execution:
 * which conditional jumps it would have mispredicted, and which loads and stores would have missed
 * its cache (Table 4 of the WET paper). */
#ifndef OFFLINE_WET_MACHINE_H
#define OFFLINE_WET_MACHINE_H

#include "offline/dep/dep.h"

enum wet_history { WET_BRANCHES, WET_LOADS, WET_STORES_MADE, WET_HISTORIES };

struct wet_machine;

/* NULL: out of memory. */
struct wet_machine *wet_machine_new(void);
void wet_machine_free(struct wet_machine *machine);
/* The next block that was executed, with its addresses and results as dep_watch_fn has them. False:
 * out of memory. */
bool wet_machine_block(struct wet_machine *machine, const struct dep_block *block,
		       const uint64_t *addresses, const uint64_t *results);

struct wet_machine_size {
	uint64_t executions, misses; /* of jumps: mispredicted */
	uint64_t bytes, packed;	     /* a bit an execution; compressed as streams are */
};
/* 0 or -ENOMEM. */
int wet_machine_sizes(const struct wet_machine *machine,
		      struct wet_machine_size out[WET_HISTORIES]);

#endif
