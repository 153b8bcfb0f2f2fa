/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* replay_paths.h: `pugmark replay --paths`: the blocks inside of each call, with their source
 * lines, and the functions that were inlined there as calls of their own, where there is debug
 * information.
 */
#ifndef USER_REPLAY_PATHS_H
#define USER_REPLAY_PATHS_H

#include "user/file/dwarf_lines.h"
#include "user/view/lines/block_counts.h"
#include "user/view/replay/replay.h"

/* A block, as it is shown. */
struct replay_block {
	uint64_t from_ns, to_ns; /* it began between these two */
	uint64_t addr;
	uint16_t module;
	const char *file; /* of its first line, or NULL */
	uint32_t line;
	uint32_t inlined; /* how many inlined calls are open around it */
};

struct replay_paths;

int replay_paths_new(struct replay_paths **out);
void replay_paths_free(struct replay_paths *paths);
/* The block event @e, in the call at @level of the stack. Writes it, and the inlined calls that
 * begin or end with it, by r->format. */
void replay_paths_block(struct replay *r, uint32_t level, const struct pugmark_trace_event *e);
/* The call at @level is over: so are the inlined calls in it. */
void replay_paths_leave(struct replay *r, uint32_t level);
/* How many inlined calls are open in the call at @level. */
uint32_t replay_paths_depth(const struct replay *r, uint32_t level);

#endif
