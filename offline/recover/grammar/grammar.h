/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* grammar.h: what the grammar says of an event, and how the parser follows it there: which
 * alternative the event begins, and in which of the open frames; what can be done before anything
 * shows; where a thread may leave frames other than by returning. */
#ifndef OFFLINE_RECOVER_GRAMMAR_H
#define OFFLINE_RECOVER_GRAMMAR_H

#include "offline/recover/state/state.h"

/* ---- of find.c ---- */

/* The alternative of @decision in frame @f that the event begins, PUGMARK_NONE: none; and in
 * *@empty the one that can be silent up to the frame's end. */
uint32_t parser_alternative(struct parser *parser, const struct frame *f, uint32_t decision,
			    const struct lookahead *la, uint32_t *empty);
/* Whether the open call of an AT_CALL frame is where the event was entered from. */
bool parser_enters_through(const struct parser *parser, const struct frame *f,
			   const struct lookahead *la);
/* How many ways the grammar has to an event: FOUND_TORN: two, and nothing tells them apart. */
enum found { FOUND_NONE, FOUND_ONE, FOUND_TORN };

/* Whether the grammar alone leads to the event, and for FOUND_ONE in *@level the frame that it
 * begins in and in *@alt the alternative there, PUGMARK_NONE: the call that the frame is in. Those
 * above it end in silence. */
enum found parser_find(struct parser *parser, const struct lookahead *la, uint32_t *level,
		       uint32_t *alt);
/* Whether the grammar leads to the event once no more than the first @n frames are open. */
bool parser_can_come_below(struct parser *parser, const struct lookahead *la, uint32_t n);

/* ---- of silence.c ---- */

/* Of the frames above the first @n, the topmost that can end in silence: down to which number of
 * open frames that leads. */
uint32_t parser_can_end_down_to(struct parser *parser, uint32_t n);
/* Whether the frames above the first @n can end in silence. */
static inline bool parser_can_end(struct parser *parser, uint32_t n)
{
	return parser_can_end_down_to(parser, n) == n;
}
/* Whether, if frame @n - 1 is still open, no other call can have been in progress since the last
 * event than that which frame @top - 1 is in: behind it, and behind the calls of the frames that
 * can end in silence after it, all that is done shows before it is done. */
bool parser_call_is_last(const struct parser *parser, uint32_t top, uint32_t n);

/* ---- of leaving.c ---- */

/* Whether the call that frame @f is in, or just passed, where it is at @position, never returns to
 * it. */
bool parser_in_noreturn(const struct parser *parser, const struct frame *f, uint8_t position);
/* How many frames are open where the thread may be leaving its stack or, @longjmp, frames of it:
 * all, or those that a handler has interrupted there which can have ended in silence; 0: it cannot
 * be leaving. */
uint32_t parser_leaving(struct parser *parser, bool longjmp);

/* ---- of derive.c ---- */

/* Lets the frames above the first @n end in silence, as parser_find() said that they can. */
void parser_end_frames(struct parser *parser, uint32_t n);
/* The same, where it said so of the event @la. */
void parser_end_before(struct parser *parser, uint32_t n, const struct lookahead *la);
/* Follows the grammar to the node that the event witnesses; @first: what parser_find() said of the
 * first decision, or PUGMARK_NONE. FOUND_NONE: nothing leads there, which after parser_find() is a
 * fault of the plan. */
enum found parser_derive(struct parser *parser, const struct lookahead *la, uint32_t first);

#endif
