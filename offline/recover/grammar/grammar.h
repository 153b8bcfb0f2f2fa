/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* grammar.h: what the grammar says of an event, and how the parser follows it there: which
 * alternative the event begins, and in which of the open frames; what can be done before anything
 * shows; where a thread may leave frames other than by returning. */
#ifndef OFFLINE_RECOVER_GRAMMAR_H
#define OFFLINE_RECOVER_GRAMMAR_H

#include "offline/recover/state/state.h"

/* ---- of find.c ---- */

/* Two alternatives of a decision fit an event: no node. */
#define ALTERNATIVE_TORN (PUGMARK_NONE - 1)

/* The alternative of @decision in frame @f that the event begins, PUGMARK_NONE: none,
 * ALTERNATIVE_TORN: there are two; and in *@empty the one that can be silent up to the frame's end.
 */
uint32_t parser_alternative(const struct parser *parser, const struct frame *f, uint32_t decision,
			    const struct lookahead *la, uint32_t *empty);
/* Whether the open call of an AT_CALL frame is where the event was entered from. */
bool parser_enters_through(const struct parser *parser, const struct frame *f,
			   const struct lookahead *la);
/* How many ways the grammar has to an event: FOUND_TORN: two, and nothing tells them apart. */
enum found { FOUND_NONE, FOUND_ONE, FOUND_TORN };

/* Whether the grammar alone leads to the event, and for FOUND_ONE in *@level the frame that it
 * begins in and in *@alt the alternative there, PUGMARK_NONE: the call that the frame is in. The
 * frames inside of it end in silence. */
enum found parser_find(const struct parser *parser, const struct lookahead *la, uint32_t *level,
		       uint32_t *alt);
/* Whether the grammar leads to the event once no more than the first @n frames are open. */
bool parser_can_come_below(const struct parser *parser, const struct lookahead *la, uint32_t n);

/* ---- of silence.c ---- */

/* Outwards over the open frames in silence: once those inside of frame @level have ended, that goes
 * on where it is, in a call or before a decision. All that asks what can be silent looks at the
 * frames in this way, from the innermost on, as long as each can end:
 *
 *	for (uint32_t level = p->n; level-- > 0 && silence_in(&s, p, level);) {
 *		... s.call: the event may be of what it enters ...
 *		if (!silence_after_call(&s)) break;	(it never comes back)
 *		... s.decision: the event may begin one of its alternatives ...
 *	}
 */
struct silence {
	const struct parser *p;
	const struct frame *frame;
	const struct pugmark_plan_node *call;	/* that the frame is in; NULL: none */
	const struct pugmark_plan_node *behind; /* whose callee's frame was open, and has ended;
						   NULL: none */
	uint32_t decision; /* what is next in it, after that call; PUGMARK_NONE: nothing is */
	bool jumped;	   /* after the call: it was a jump, so the frame has ended with it */
};

/* Whether frame @level goes on in silence once those inside of it have ended: not where a gap hides
 * how, nor where it is left to code that is not traced, with no frame of ours. */
static inline bool silence_in(struct silence *s, const struct parser *p, uint32_t level)
{
	s->p = p;
	s->frame = &p->stack[level];
	s->jumped = false;
	uint8_t position = parser_position_below(p, level, &s->decision);
	const struct pugmark_plan_node *node = node_at(p, s->frame->module, s->frame->node);
	bool called = level + 1 < p->n && p->stack[level + 1].boundary == BELOW_CALL;
	s->call = position == AT_CALL ? node : NULL;
	s->behind = called ? node : NULL;
	return position == AT_CALL || position == AT_DECISION;
}

/* The call, if it is in one, has come back; false: it never does. */
static inline bool silence_after_call(struct silence *s)
{
	if (!s->call)
		return true;
	s->jumped = s->call->flags & PUGMARK_NODE_TAIL;
	s->decision = pugmark_node_next(s->call);
	return !(s->call->flags & PUGMARK_NODE_NORETURN);
}

/* Where silence leads over @n, of which nothing shows, once a callee of it has ended: to *@decision
 * behind it, or to the first one of the function that takes the frame over. false: nowhere; it ends
 * the frame, or leaves the module, or never comes back. */
static inline bool silence_over(const struct pugmark_plan *plan, const struct pugmark_plan_node *n,
				uint32_t *decision)
{
	bool tail = n->flags & PUGMARK_NODE_TAIL;
	if (n->kind == PUGMARK_NODE_KIND_EXIT || n->kind == PUGMARK_NODE_KIND_RETURN ||
	    (tail ? n->kind != PUGMARK_NODE_KIND_CALL : n->flags & PUGMARK_NODE_NORETURN))
		return false;
	*decision = tail ? plan->funcs[n->callee].entry : pugmark_node_next(n);
	return true;
}

/* What can be next in the frame; NULL: nothing is, or memory is out. */
static inline const struct decision_table *silence_table(const struct silence *s)
{
	return s->decision == PUGMARK_NONE ? NULL : table_at(s->p, s->frame->module, s->decision);
}

/* How many frames are open once those inside of the first @n have ended in silence, the innermost
 * first, as far as they can. */
uint32_t parser_can_end_down_to(const struct parser *parser, uint32_t n);
/* Whether all frames inside of the first @n can end in silence. */
static inline bool parser_can_end(const struct parser *parser, uint32_t n)
{
	return parser_can_end_down_to(parser, n) == n;
}
/* Whether, if frame @n - 1 is still open, no other call can have been in progress since the last
 * event than that which frame @top - 1 is in: behind it, and behind the calls of the frames that
 * can end in silence after it, all that is done shows before it is done. */
bool parser_call_is_last(const struct parser *parser, uint32_t top, uint32_t n);
/* Whether the frames inside of the first @n, which can end in silence, are in no call that an
 * exception could have come out of, and can have made none since the last event: each would show.
 */
bool parser_ends_without_calls(const struct parser *parser, uint32_t n);
/* Whether, once the frames inside of the first @n have ended, the call that the innermost of these
 * is in is the only one that can be in progress: no other, there or in frames further out, can be
 * reached in silence. */
bool parser_call_is_only(const struct parser *parser, uint32_t n);
/* Whether open frame @level, out of which the event can come, can end only by jumping to what is
 * not traced, by the way that leads to the event as well. Then it is a frame no more, and whether
 * what it has jumped to goes on, or has ended and its like was called in its place, makes no
 * difference: the jump was made, and the event came out of what is not traced. */
bool parser_ends_by_jump(const struct parser *parser, const struct lookahead *la, uint32_t level);
/* Whether the event, which parser_find() found in frame @level by @alt, can be what the frame jumps
 * to: no where it is an entry from outside, in the frame's place, and the jump names another
 * function. */
bool parser_can_jump(const struct parser *parser, const struct lookahead *la, uint32_t level,
		     uint32_t alt);

/* ---- of leaving.c ---- */

/* Whether nothing of the frame follows there by itself: its call never returns or may switch
 * stacks, or, in no call, its decision has no alternative. Then it was still open when an exception
 * left it. */
bool silence_is_final(const struct silence *s);
/* How many frames are open where the thread may be leaving its stack or, @longjmp, frames of it:
 * all; or, where a handler's frames can have ended in silence and the frame that it interrupted may
 * leave, those outside of the handler; 0: it cannot be leaving. */
uint32_t parser_leaving(const struct parser *parser, bool longjmp);

/* ---- of derive.c ---- */

/* Lets the frames inside of the first @n end in silence, as parser_find() said that they can. */
void parser_end_frames(struct parser *parser, uint32_t n);
/* The same, where it said so of the event @la. */
void parser_end_before(struct parser *parser, uint32_t n, const struct lookahead *la);
/* Follows the grammar to the node that the event witnesses; @first: what parser_find() said of the
 * first decision, or PUGMARK_NONE. FOUND_NONE: nothing leads there, which after parser_find() is a
 * fault of the plan. */
enum found parser_derive(struct parser *parser, const struct lookahead *la, uint32_t first);

#endif
