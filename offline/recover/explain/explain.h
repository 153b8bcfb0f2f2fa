/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explain.h: what an event can be, one file a cause. feed.c asks them in the order of
 * docs/theory.md. */
#ifndef OFFLINE_RECOVER_EXPLAIN_H
#define OFFLINE_RECOVER_EXPLAIN_H

#include "offline/recover/grammar/grammar.h"
#include "offline/recover/stack/snapshot.h"

/* ---- of unwinding.c ---- */

/* Whether the event is a landing pad or second return of setjmp in a frame that is open. */
bool parser_can_unwind(const struct parser *parser, const struct lookahead *la);
/* Then goes on in that frame. */
bool parser_try_unwinding(struct parser *parser, const struct lookahead *la);
/* Leaves the frames above the first @n by unwinding. Where it is not certain that they were all
 * still open, or what had been called from the last, that is a gap; it is not where @sure is not
 * set. */
void parser_unwind_to(struct parser *parser, uint32_t n, bool sure);
/* Opens the frames between the topmost and the event's, of @func, which the calls in @links made.
 */
void parser_open_frames(struct parser *parser, const struct pugmark_witness_event *event,
			uint32_t func, const struct stack_link *links, int n);

/* ---- of gap.c ---- */

/* Starts anew at the event itself, after a gap because of @cause. */
void parser_reanchor(struct parser *parser, const struct lookahead *la, uint8_t cause);
/* Why an event fits nothing: it may well be of a frame that an earlier gap has hidden. */
uint8_t parser_misfit_cause(struct parser *parser, const struct lookahead *la);

/* ---- of callback.c ---- */

/* The entry of a function from another module: goes on from the call of ours that the stack says
 * it was during. Where it does not say so returns false, and in *@live how many frames may still be
 * open. */
bool parser_explain_callback(struct parser *parser, struct lookahead *la, uint32_t *live);
/* The same, unexplained: a gap, on top of the first @live frames. */
void parser_enter_foreign(struct parser *parser, struct lookahead *la, uint32_t live);

/* ---- of thread.c ---- */

/* The entry of a thread's next function from outside: all that was open has ended. */
void parser_enter_root(struct parser *parser, const struct lookahead *la);
/* The first event of a thread that begins in the middle of a function of ours. Returns whether it
 * is one, and has been taken. */
bool parser_begin_thread(struct parser *parser, struct lookahead *la);
/* Whether the event is of a program's very first function. */
bool parser_starts_program(struct parser *parser, const struct lookahead *la);

/* ---- of switch.c ---- */

/* The event is of another stack than the current one, by what is known of both: goes on there. */
bool parser_try_switch(struct parser *parser, const struct lookahead *la);
/* A signal has come (PUGMARK_EVENT_SIGNAL), but not on the current stack, by what is known of it:
 * where it came on one that was left, or on a new one in its first function, goes on there, and
 * brings it up to the place. Returns whether it did. */
bool parser_settle_elsewhere(struct parser *parser, const struct pugmark_witness_event *event);

/* ---- of signal.c ---- */

/* A signal is delivered (PUGMARK_EVENT_SIGNAL). */
void parser_signal(struct parser *parser, const struct pugmark_witness_event *event);
/* The entry of a handler of whose signal no event has told: it found @sp, @ip and @bp, by its
 * stack;
 * @sp 0: not known. */
void parser_enter_handler(struct parser *parser, const struct lookahead *la, uint64_t sp,
			  uint64_t ip, uint64_t bp);
/* The entry of a function that a handler which is not traced has called, by the stack and what an
 * event has told of its signal. Returns whether it is one, and has been entered. */
bool parser_enter_from_handler(struct parser *parser, const struct lookahead *la);
/* The entry of a function in which the last handler has made the thread go on, as if it had been
 * called by what the signal has interrupted. Returns whether it is one, and has been entered. */
bool parser_enter_injected(struct parser *parser, struct lookahead *la);
/* The entry of a handler that the last event has told of: it happened, unless @next says that its
 * frame could not be made. */
void parser_release_held(struct parser *parser, const struct pugmark_witness_event *next);

/* ---- of attach.c ---- */

/* Opens the frames that the stack of an PUGMARK_EVENT_ATTACH tells of, and says where the next
 * event's is.
 */
void parser_attach(struct parser *parser, const struct pugmark_witness_event *event);
/* A signal has come (PUGMARK_EVENT_SIGNAL) right after that: goes on from where it finds the
 * thread. Returns whether it is known how. */
bool parser_begin_placed(struct parser *parser, const struct pugmark_witness_event *event);
/* The first event after attaching, in the frame that the stack has told. */
bool parser_begin_attached(struct parser *parser, const struct lookahead *la);

/* ---- of exit.c ---- */

/* The task has ended: unless it was stopped in the middle, what is still open and can end in
 * silence did. */
void parser_finish(struct parser *parser, bool stopped);

#endif
