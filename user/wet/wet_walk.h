/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wet_walk.h: the control flow of a WET file: from its blocks, where it has some (block_paths.h),
 * or from the timestamps of nodes alone: whoever has the next one is the node that was executed
 * next. */
#ifndef USER_WET_WALK_H
#define USER_WET_WALK_H

#include "offline/wet/recompute/block_paths.h"

struct wet_walk {
	const struct wet_file *file;
	struct block_paths paths;  /* where there are blocks: nothing of what follows is */
	struct wet_cursor **times; /* of each node */
	uint64_t *at; /* of each node: the timestamp that is next in the walk; 0: none */
	bool backward;
	/* Backwards: the nodes that were ever executed before node @i are @before from first[i] to
	 * first[i + 1]. */
	uint32_t *first, *before;
	uint64_t now; /* timestamp of the node that is next; 0: the walk is over */
	uint32_t node;
};

/* Stands before timestamp @at. 0, -EBADMSG, or -ENOMEM. */
int wet_walk_init(struct wet_walk *walk, const struct wet_file *file, uint64_t at, bool backward);
void wet_walk_deinit(struct wet_walk *walk);
/* Passes one: its timestamp and node. False: there is none. */
bool wet_walk_step(struct wet_walk *walk, uint64_t *time, uint32_t *node);

#endif
