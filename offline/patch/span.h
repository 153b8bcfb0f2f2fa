/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* span.h: several instructions of a block that a patch may take the place of together, since
 * nothing comes to the second or a later one but through the first. That is so where
 *
 *   - they are of one block: none but its first is the target of a branch, of a jump table, of a
 *     return, or a landing pad, in a function all of whose jumps are known
 *   - no direct call or jump from anywhere in the module goes there
 *   - the first is not a function's first, which is where other tools put breakpoints: what such a
 *     one executes elsewhere goes on at the second
 *
 * Behind a block that ends in a jump or return, bytes that belong to nothing and do nothing count
 * as part of it. */
#ifndef OFFLINE_PATCH_SPAN_H
#define OFFLINE_PATCH_SPAN_H

#include "offline/patch/placing.h"

#include <pugmark/model.h>

struct spans;

/* From where up to where it may lie, in ELF addresses. */
struct span_range {
	uint64_t from, to;
};

/* Borrows @model until spans_free(). 0 or -ENOMEM. */
int spans_new(const struct pugmark_model *model, struct spans **out);
void spans_free(struct spans *spans);
/* Finds the shortest one of @block of at least @needed bytes with instruction @event, which is to
 * be the last if @last says so, within @range but for what is behind the block. Fills what of
 * @place says where it is; false: there is none, and nothing is. */
bool spans_find(const struct spans *spans, uint32_t block, uint32_t event, bool last,
		uint8_t needed, struct span_range range, struct patch_place *place);
/* The block in front of @block that goes on to it where its conditional jump is not taken, if
 * nothing else leads to @block; else PUGMARK_NONE. */
uint32_t spans_fallen_from(const struct spans *spans, uint32_t block);
/* The address of five idle bytes that a jump of two bytes at @addr reaches; 0: there are none. */
uint64_t spans_island(const struct spans *spans, uint64_t addr);
/* Idle bytes that a patch has from now on. */
void spans_take(struct spans *spans, uint64_t from, uint64_t to);
/* Bytes that a patch has or a probe may stand in: they do not move. */
void spans_hold(struct spans *spans, uint64_t from, uint64_t to);
/* Finds instructions of one block that can move, by the rules of a span, and leave room for two
 * jumps: to where they are executed, and, behind that one, an island that a jump of two bytes at
 * @place->addr reaches. Fills room, room_len and island of @place; false: there are none. */
bool spans_make_room(const struct spans *spans, struct patch_place *place);

#endif
