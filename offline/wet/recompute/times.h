/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* times.h: the timestamps of a node of a WET file, in both directions: those that are stored, or,
 * where there are blocks (again.h), those that its executions have in them. */
#ifndef OFFLINE_WET_TIMES_H
#define OFFLINE_WET_TIMES_H

#include "offline/wet/recompute/block_paths.h"

/* Stands between two executions. */
struct wet_times;

/* @paths: of the same file, borrowed; may be NULL where timestamps are stored. 0, -EBADMSG,
 * -ENOTSUP or -ENOMEM. */
int wet_times_open(const struct wet_file *file, struct block_paths *paths, uint32_t node,
		   struct wet_times **out);
void wet_times_free(struct wet_times *times);
uint64_t wet_times_length(const struct wet_times *times);
uint64_t wet_times_position(const struct wet_times *times);
/* Passes one and gives it. False: there is none, or its block cannot be read. */
bool wet_times_next(struct wet_times *times, uint64_t *time);
bool wet_times_previous(struct wet_times *times, uint64_t *time);
/* Goes to where @position executions are on the left. False: there are not so many. */
bool wet_times_seek(struct wet_times *times, uint64_t position);

#endif
