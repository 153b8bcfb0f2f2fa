/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapshot.h: what a stack snapshot says. It holds the words from the event's frame to higher
 * addresses: return addresses of calls in progress, and whatever earlier calls have left there.
 * Which of the open frames are still there (intact.c, frames_left.c), which calls lead from one to
 * the event (open_frame.c; by return addresses alone: chain.h), what the kernel made for a signal
 * (snapshot.c). */
#ifndef OFFLINE_RECOVER_SNAPSHOT_H
#define OFFLINE_RECOVER_SNAPSHOT_H

#include "offline/recover/state/state.h"

/* The word at @addr of the snapshot; false where it has none, or it is not known. */
static inline bool stack_word(const struct pugmark_witness_event *e, uint64_t addr, uint64_t *word)
{
	uint64_t i = (addr - e->stack_addr) / 8;
	if (!e->stack || addr < e->stack_addr || i >= e->stack_words ||
	    e->stack[i] == PUGMARK_EVENT_STACK_UNKNOWN)
		return false;
	*word = e->stack[i];
	return true;
}
/* Whether the snapshot reaches @addr. */
static inline bool stack_reaches(const struct pugmark_witness_event *e, uint64_t addr)
{
	return e->stack && addr >= e->stack_addr && (addr - e->stack_addr) / 8 < e->stack_words;
}
/* Whether the word that ends at @cfa still holds @ret, as far as the snapshot can say. */
bool stack_slot_holds(const struct parser *p, const struct pugmark_witness_event *e, uint64_t cfa,
		      uint64_t ret);
/* Whether the activations of frame @level and of those that called it are the ones that the parser
 * has open, as far as the snapshot goes. One that looks the same may have been called by another
 * activation of its caller. */
bool stack_frames_intact(const struct parser *p, const struct pugmark_witness_event *e,
			 uint32_t level);
/* Whether, where frame @i was called back, the call of ours that it came through is where it was. A
 * frame that returned is not: the next call made from there has overwritten it. */
bool stack_call_intact(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i);
/* Where the return address of the call in progress of frame @i lies: its callee's CFA, or 0. */
uint64_t stack_callee_cfa(const struct parser *p, uint32_t i);
/* Whether the activation in the place of frame @level can be in @func of @module: what is open
 * there, or what the same call has entered again. */
bool stack_frame_in(const struct parser *p, uint32_t level, uint16_t module, uint32_t func);
/* The innermost open frame that lies at @cfa and is still there, as those that called it are. */
bool stack_open_frame_at(const struct parser *p, const struct pugmark_witness_event *e,
			 uint64_t cfa, uint32_t *level);
/* Whether the frame right outside of the event's is the one that the kernel makes for a handler;
 * then *@sp, *@ip and *@bp are the interrupted stack pointer, instruction and rbp. */
bool stack_signal(const struct pugmark_witness_event *e, uint64_t *sp, uint64_t *ip, uint64_t *bp);
/* Whether the snapshot has, outside of the event's frame, that which the kernel made for a handler
 * that found @sp and @ip, and which is still running as far as it can say. */
bool stack_handler_runs(const struct pugmark_witness_event *e, uint64_t sp, uint64_t ip);

/* How many of the open frames are still open when the stack pointer is @sp: the innermost of them
 * is the one whose CFA is next higher, whichever stack a frame is on. */
uint32_t stack_frames_above(const struct parser *p, const struct pugmark_witness_event *e,
			    uint64_t sp);

/* The innermost of the first @end open frames whose activation still seems to be on the stack, with
 * a CFA higher than @above, plus one; 0: none is. */
uint32_t stack_live_frames(const struct parser *p, const struct pugmark_witness_event *e,
			   uint64_t above, uint32_t end);
/* Whether the snapshot reaches from the event's frame to open frame @i. */
bool stack_covers(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i);

/* calls in progress between an event's frame and an open one, at most */
#define STACK_LINKS_MAX 512

/* One call in progress: node @call of a function of @module whose frame lies at @cfa. */
struct stack_link {
	uint16_t module;
	uint32_t call;
	uint64_t cfa;
};

/* The calls in progress from the event's frame, which is of @func, outwards to an open frame: at
 * most @max of them, the innermost first, in @links. Returns how many and in *@level that frame; or
 * -1 where the snapshot does not lead to one. */
int stack_chain(const struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
		struct stack_link *links, int max, uint32_t *level);
/* The same from the frame that is in call @call, whose callee's frame lies at @call->cfa. */
int stack_chain_of_call(const struct parser *p, const struct pugmark_witness_event *e,
			const struct stack_link *call, struct stack_link *links, int max,
			uint32_t *level);

/* Keeps what the snapshot of the event, a callback, has from @cfa on outwards: where what the call
 * in progress has made begins. */
void held_words_note(struct parser *p, const struct pugmark_witness_event *e, uint64_t cfa);
/* Whether the snapshot has the words of @held again, of those from @cfa up to @end. MAY_HOLD: none
 * differs, but too few are known. */
enum holds { HOLDS_NOT, MAY_HOLD, HOLDS };
enum holds held_words_in(const struct held_words *held, const struct pugmark_witness_event *e,
			 uint64_t cfa, uint64_t end);

/* Which of the open frames the event can be of by the stacks that handlers run on: from *@lo up to
 * *@hi. */
void parser_handlers_bound(const struct parser *parser, const struct pugmark_witness_event *event,
			   uint32_t *lo, uint32_t *hi);

#endif
