/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explain.h: what an event can be, one file a cause. Each cause is a question and an answer's
 * doing:
 *
 *   ask_CAUSE()     could the event be this? Adds what it finds to a set of candidates, and changes
 *                   nothing of the trace's state (only tables and caches are filled)
 *   commit_CAUSE()  makes the state what it is if the candidate is right, and reports what that
 * says
 *
 * feed.c asks in the order of docs/theory.md, "What an event can be", up to the first cause that
 * has a candidate. One candidate is committed. More than one are told apart by nothing: a gap; and
 * where no cause has any, a gap as well. */
#ifndef OFFLINE_RECOVER_EXPLAIN_H
#define OFFLINE_RECOVER_EXPLAIN_H

#include "offline/recover/grammar/grammar.h"
#include "offline/recover/stack/snapshot.h"

struct settling;

/* A way that the event may have come to be. */
struct candidate {
	uint8_t unsaid; /* enum pugmark_trace_cause: the gap that it would leave; NONE: it says all
			   of the current stack; what it leaves of another is its own gap */
	union {
		/* next.c: it begins in frame @level, by node @alt; PUGMARK_NONE: the call that the
		 * frame is in. @jumped_back: by another module's last jump. */
		struct {
			uint32_t level, alt;
			bool jumped_back;
		} next;
		/* signal.c, called by a handler: @by; what it had called before @ended. */
		struct {
			struct foreign_handler by;
			bool ended;
		} called;
		/* signal.c, a handler: the stack pointer that it found, by its stack; 0: not known.
		 * Of what it interrupts, how far that came. */
		struct {
			uint64_t sp;
			uint8_t settled;	   /* enum settled */
			struct settling *settling; /* the commit's */
		} handler;
		/* signal.c, injected: @n frames are open then. */
		struct {
			uint32_t n;
			bool ahead; /* see struct interruption */
		} injected;
		/* switch.c: @kind is enum switch_kind; of kept context @context, where it goes back
		 * to one; there as in next. */
		struct {
			uint8_t kind;
			uint32_t context, level, alt;
		} stack;
		/* callback.c: @kind is enum callback_kind; by @la, which knows the call; the first
		 * @n frames are open then, and @alt as in next. */
		struct {
			uint8_t kind;
			uint32_t n, alt;
			struct lookahead la;
		} callback;
		/* unwinding.c: see struct unwinding. */
		struct unwinding {
			uint32_t n;    /* frames that survive */
			uint32_t open; /* those that a handler did not leave in silence before */
			bool sure;     /* the others were all there, and nothing ran unseen */
		} unwinding;
	};
};

/* A bounded set of candidates: of more than one only that is kept. */
struct candidates {
	struct candidate one;
	uint32_t n;
};

static inline void candidate_add(struct candidates *set, const struct candidate *c)
{
	set->one = *c;
	set->n++;
}

/* COMMIT_TAKEN  the event has been taken
 * COMMIT_GO_ON  the grammar leads on to it from where the parser is now
 * COMMIT_FAILED it does not come about after all: a gap */
enum commit { COMMIT_TAKEN, COMMIT_GO_ON, COMMIT_FAILED };

/* What is asked, and committed. @first: where the grammar goes on by a node that was found already.
 */
typedef void ask_fn(struct parser *parser, const struct lookahead *la, struct candidates *set);
typedef enum commit commit_fn(struct parser *parser, struct lookahead *la,
			      const struct candidate *c, uint32_t *first);

/* The first event of a thread that begins in the middle of a function of ours: it was started
 * behind a system call of ours, as in a program with the C library in it. */
ask_fn ask_begun;
commit_fn commit_begun;
/* Next in order: the grammar leads to it. */
ask_fn ask_next;
commit_fn commit_next;
/* The entry of a function that a handler which is not traced has called. */
ask_fn ask_called_by_handler;
commit_fn commit_called_by_handler;
/* The entry of a handler of whose signal no event has told. */
ask_fn ask_handler;
commit_fn commit_handler;
/* The first event after attaching, in the frame that the stack has told. */
ask_fn ask_attached;
commit_fn commit_attached;
/* The entry of a function in which the last handler has made the thread go on, as if what the
 * signal has interrupted had called it. */
ask_fn ask_injected;
commit_fn commit_injected;
/* It is of another stack. */
ask_fn ask_switch;
commit_fn commit_switch;
/* The entry of a function from code that is not traced. */
ask_fn ask_callback;
commit_fn commit_callback;
/* The entry of a program's very first function. */
ask_fn ask_program;
commit_fn commit_program;
/* A landing pad or second return of setjmp in a frame that is open. */
ask_fn ask_unwinding;
commit_fn commit_unwinding;
/* Go moves stacks: it may follow from where the parser is all the same. */
ask_fn ask_moved;
commit_fn commit_moved;

/* ---- what causes do for one another ---- */

/* unwinding.c: what leaving the frames above the first @n says; @sure: nothing else speaks against
 * it. */
struct unwinding unwinding_of(struct parser *parser, uint32_t n, bool sure);
/* Leaves them, with a gap where that is not sure. */
void unwinding_leave(struct parser *parser, const struct unwinding *unwinding);
/* Opens the frames between the topmost and the event's, of @func, which the calls in @links made.
 */
void parser_open_frames(struct parser *parser, const struct pugmark_witness_event *event,
			uint32_t func, const struct stack_link *links, int n);
/* thread.c: the entry of a thread's next function from outside: all that was open has ended. */
void parser_enter_root(struct parser *parser, const struct lookahead *la);

/* ---- gap.c: no cause, or several ---- */

/* Why an event fits nothing: it may well be of a frame that an earlier gap has hidden. */
uint8_t parser_misfit_cause(struct parser *parser, const struct lookahead *la);
/* Starts anew at the event itself, after a gap because of @cause. */
void parser_reanchor(struct parser *parser, const struct lookahead *la, uint8_t cause);

/* ---- events that are no witnesses ---- */

/* signal.c: a signal is delivered (PUGMARK_EVENT_SIGNAL). */
void parser_signal(struct parser *parser, const struct pugmark_witness_event *event);
/* The entry of a handler that the last event has told of: it happened, unless @next says that its
 * frame could not be made. */
void parser_release_held(struct parser *parser, const struct pugmark_witness_event *next);
/* switch.c: a signal has come, but not on the current stack, by what is known of it: where it came
 * on one that was left, or on a new one in its first function, goes on there, and brings it up to
 * the place. Returns whether it did. */
bool parser_settle_elsewhere(struct parser *parser, const struct pugmark_witness_event *event);
/* attach.c: opens the frames that the stack of a PUGMARK_EVENT_ATTACH tells of, and says where the
 * next event's is. */
void parser_attach(struct parser *parser, const struct pugmark_witness_event *event);
/* A signal has come right after that: goes on from where it finds the thread. Returns whether it is
 * known how. */
bool parser_begin_placed(struct parser *parser, const struct pugmark_witness_event *event);
/* exit.c: the task has ended: unless it was stopped in the middle, what is still open and can end
 * in silence did. */
void parser_finish(struct parser *parser, bool stopped);

#endif
