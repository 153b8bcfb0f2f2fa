/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cursor.h: outwards over the stack that a snapshot shows, from frame to frame: a frame's return
 * address names the call that made it, and that says where the calling frame lies. All that reads
 * calls in progress goes outwards by this. A step says how sure it is. Where a frame's end is not
 * known, each word that may be a return address is tried: a cursor is put there, or scans on to it.
 */
#ifndef OFFLINE_RECOVER_CURSOR_H
#define OFFLINE_RECOVER_CURSOR_H

#include "offline/recover/state/state.h"

/* STEP_NONE    no call of ours is there: the snapshot ends, or the word returns elsewhere
 * STEP_SCAN    none either, but there is a word that may be a return address: the cursor is at the
 *		frame that would end there
 * STEP_HEIGHT  by the height that the plan has of the calling frame at that call
 * STEP_BP      by call frame information through rbp, of a function that is not traced
 * STEP_LOST    the call is known, but not where its frame ends */
enum cursor_step { STEP_NONE, STEP_SCAN, STEP_HEIGHT, STEP_BP, STEP_LOST };

/* rbp in a frame, where it is known. */
struct cursor_bp {
	bool known;
	uint64_t value;
};

struct frame_cursor {
	const struct parser *p;
	const struct pugmark_witness_event *e;
	uint64_t cfa;	 /* of the frame that the cursor is at; 0: not known */
	uint16_t module; /* of it, as far as is known: looked at first */
	bool opaque;	 /* calls of functions that are not traced count as well */
	struct cursor_bp bp;
	/* The call in progress of that frame, and what it has made, once a step has been made. */
	uint32_t call;
	const struct pugmark_plan_node *node;
	uint64_t callee_cfa; /* of the frame that the call has made */
	uint64_t ret;	     /* that frame's return address; 0: the snapshot does not have it */
};

/* At the frame of @module that lies at @cfa. */
static inline struct frame_cursor cursor_at(const struct parser *p,
					    const struct pugmark_witness_event *e, uint16_t module,
					    uint64_t cfa)
{
	return (struct frame_cursor){.p = p, .e = e, .module = module, .cfa = cfa};
}

/* To the frame that would end at the next higher word, whatever that is; false: the snapshot has no
 * more. */
bool cursor_next_word(struct frame_cursor *cursor);
/* To the next word past the frame that may be a return address, and to the call that it would be
 * of: the frame at the cursor ends there, and the call made it (STEP_LOST); or none of ours has
 * (STEP_SCAN); STEP_NONE: the snapshot has no more. */
enum cursor_step cursor_scan(struct frame_cursor *cursor);
/* To what called the frame. */
enum cursor_step cursor_up(struct frame_cursor *cursor);
/* Its two halves: the call that the frame returns to, false where there is none; and the frame that
 * made it. */
bool cursor_find_call(struct frame_cursor *cursor);
enum cursor_step cursor_find_frame(struct frame_cursor *cursor);
/* The first one where @cursor->ret has been read already, as cursor_next_word() does. */
bool cursor_take_call(struct frame_cursor *cursor);
/* The same call, of module @module, from elsewhere: its callee's frame lies at the cursor's. */
void cursor_put_call(struct frame_cursor *cursor, uint16_t module, uint32_t call);
/* rbp in the caller of the frame at the cursor, by @rule (see struct pugmark_cfa). */
void cursor_pass_bp(struct frame_cursor *cursor, uint8_t rule);

#endif
