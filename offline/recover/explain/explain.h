/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explain.h: what an event can be, one file a cause. Each cause is a question and an answer's
 * doing:
 *
 * - ask_CAUSE() answers whether the event could be this: it adds what it finds to a set of
 *   candidates. The state is const to it: a question fills tables and caches, nothing else.
 * - commit_CAUSE() makes the state what it is if the candidate is right, and reports what that
 *   says.
 *
 * causes.c asks all of them, and drops the candidates that another one's cause is stronger than:
 * its table says which, and why. One candidate that is left is committed. Several are told apart by
 * nothing: a gap. None: a gap as well. */
#ifndef OFFLINE_RECOVER_EXPLAIN_H
#define OFFLINE_RECOVER_EXPLAIN_H

#include "offline/recover/grammar/grammar.h"
#include "offline/recover/stack/snapshot.h"

struct settling;

/* What an event can be (docs/theory.md). */
enum cause {
	/* The thread's first event is in the middle of a function of ours: the thread was started
	 * behind a system call of ours, as in a program with the C library in it. */
	CAUSE_BEGUN,
	/* The grammar leads to the event. */
	CAUSE_NEXT,
	/* A handler that is not traced has called the function that is entered. */
	CAUSE_CALLED_BY_HANDLER,
	/* A handler is entered of whose signal no event has told. */
	CAUSE_HANDLER,
	/* The first event after attaching, in the frame that the stack has told. */
	CAUSE_ATTACHED,
	/* The last handler has made the thread go on in the function that is entered, as if what
	 * the signal has interrupted had called it. */
	CAUSE_INJECTED,
	/* The event is of another stack: its frame says so, or the call in progress can be no other
	 * than one that switches. */
	CAUSE_SWITCH,
	/* The first function on a new stack is entered, during a call that may be one of a function
	 * that switches, or of any other. */
	CAUSE_NEW_STACK,
	/* Code that is not traced enters a function during a call of ours, which the stack shows.
	 */
	CAUSE_CALLBACK,
	/* The same where the stack shows no such call. */
	CAUSE_OUTSIDE,
	/* The same, out of a call in progress further out than the one that the thread was in, or
	 * of another line of execution: code that is not traced has left frames inside of it, or
	 * copies what is on the stack away and other contents into its place. */
	CAUSE_PUT_ASIDE,
	/* The first function on the stack has returned to a place in one of ours that no call led
	 * from; the grammar leads to the event from there. */
	CAUSE_BOTTOM,
	/* A program's very first function is entered. */
	CAUSE_PROGRAM,
	/* The event is a landing pad, or the second return of setjmp, in a frame that is open. */
	CAUSE_UNWINDING,
	/* In Go, where stacks move: the grammar may lead to the event all the same. */
	CAUSE_MOVED,
	N_CAUSES,
};

/* A way that the event may have come to be. */
struct candidate {
	uint8_t cause;	/* enum cause: whose answer it is */
	uint8_t unsaid; /* enum pugmark_trace_cause: the gap that it would leave; NONE: it says all
			   of the current stack; what it leaves of another is its own gap */
	union {
		/* next.c, bottom.c: it begins in frame @level, by node @alt; PUGMARK_NONE: the call
		 * that the frame is in. @jumped_back: by another module's last jump. */
		struct {
			uint32_t level, alt;
			bool jumped_back;
		} next;
		/* signal.c, called by a handler: @by; what it had called before @ended. */
		struct {
			struct interrupted by;
			bool ended;
		} called;
		/* signal.c, a handler: the stack pointer that it found, by its stack; 0: not known.
		 * Of what it interrupts, how far that came. */
		struct {
			uint64_t sp;
			uint8_t settled; /* enum settled */
			const struct settling *how;
		} handler;
		/* signal.c, injected: @n frames are open then. */
		struct {
			uint32_t n;
			bool ahead; /* see enum settled */
		} injected;
		/* switch.c: @kind is enum switch_kind; of kept context @context, where it goes back
		 * to one; there as in next. */
		struct {
			uint8_t kind;
			uint32_t context, level, alt;
		} stack;
		/* callback.c: @kind is enum callback_kind; by @la, which knows the call; the first
		 * @n frames are open then, and @alt as in next. Of a call that is not to call back,
		 * how far the thread came to it. */
		struct {
			uint8_t kind;
			uint8_t settled; /* enum settled */
			uint32_t n, alt;
			struct lookahead la;
			const struct settling *how;
		} callback;
		/* put_aside.c: kept context @context, PUGMARK_NONE: the current one; of its frames
		 * the first @n are open then. */
		struct {
			uint32_t context, n;
		} aside;
		/* unwinding.c: see struct unwinding. */
		struct unwinding {
			uint32_t n;    /* frames that survive */
			uint32_t open; /* that were open when the thread left: handlers' frames
					  inside of these ended in silence before */
			bool sure;     /* just the frames from @n to @open were left, and no call
					  came and went unseen */
			bool by_pad;   /* by landing.h, which says how far it came before */
			bool again;    /* into a frame that had ended, inside of these */
		} unwinding;
	};
};

/* A bounded set of candidates. A cause has two where nothing tells its own ways apart. */
#define CANDIDATES_MAX (2 * N_CAUSES)
struct candidates {
	struct candidate at[CANDIDATES_MAX];
	uint32_t n;
};

static inline void candidate_add(struct candidates *set, const struct candidate *c)
{
	set->at[set->n++] = *c;
}

/* What has come of a candidate that was committed. */
enum commit {
	COMMIT_TAKEN,  /* the event has been taken */
	COMMIT_GO_ON,  /* the grammar leads on to the event from where the parser is now */
	COMMIT_FAILED, /* it does not come about after all: a gap */
};

/* What is asked, and committed. @first: where the grammar goes on by a node that was found already.
 */
typedef void ask_fn(const struct parser *parser, const struct lookahead *la,
		    struct candidates *set);
typedef enum commit commit_fn(struct parser *parser, struct lookahead *la,
			      const struct candidate *c, uint32_t *first);

/* Each answers with the cause of its name, or with those that are said. */
ask_fn ask_begun;
commit_fn commit_begun;
ask_fn ask_next;
commit_fn commit_next;
ask_fn ask_called_by_handler;
commit_fn commit_called_by_handler;
ask_fn ask_handler;
commit_fn commit_handler;
ask_fn ask_attached;
commit_fn commit_attached;
ask_fn ask_injected;
commit_fn commit_injected;
ask_fn ask_switch; /* and new stack */
commit_fn commit_switch;
ask_fn ask_callback; /* and outside */
commit_fn commit_callback;
ask_fn ask_put_aside;
commit_fn commit_put_aside;
ask_fn ask_bottom;
commit_fn commit_bottom;
ask_fn ask_program;
commit_fn commit_program;
ask_fn ask_unwinding;
commit_fn commit_unwinding;
ask_fn ask_moved;
commit_fn commit_moved;

/* ---- causes.c: which of them it is ---- */

/* Asks what can have led to the event, @begins: the thread's first. In *@set what is left once the
 * weaker candidates have gone. Returns whether stacks that were left have been looked at. */
bool causes_ask(const struct parser *parser, const struct lookahead *la, bool begins,
		struct candidates *set);
/* Takes those out of the set that another one's cause is stronger than. */
void causes_drop_weaker(struct candidates *set);
/* What commits the candidate. */
commit_fn *cause_commit(const struct candidate *c);

/* ---- what causes do for one another ---- */

/* signal.c: opens a function on top of what the thread was doing, because of @cause, which found
 * the stack pointer at @sp: what it was doing goes on once an event is not of the function.
 * @settled (enum settled): how far it is known what that was. */
void parser_open_over(struct parser *parser, const struct lookahead *la, uint8_t settled,
		      uint64_t sp, uint8_t cause);

/* callback.c: whether the stack explains the event as a callback out of the call that the innermost
 * open frame is in: then in *@cfa the CFA of what that call has made. */
bool callback_is_innermost(const struct parser *parser, const struct lookahead *la, uint64_t *cfa);
/* Whether it is one out of the call that the frame outside of the first @n frames' innermost is in,
 * where that one, which is at a jump out, was: what it has jumped to has returned. */
bool callback_is_behind_jump(const struct parser *parser, const struct lookahead *la, uint32_t n);
/* The one call of ours out of which the stack shows a function to be called back, though nothing
 * may lead there from where the open frames were: @n calls in @links lie between open frame @level
 * and the frame that is in it. */
struct shown_call {
	struct stack_link call, links[STACK_LINKS_MAX];
	uint32_t level;
	int n;
};
/* False: the stack shows none, or more than one. */
bool callback_shown(const struct parser *parser, const struct lookahead *la,
		    struct shown_call *shown);
/* Behind a gap: puts the open frames where the stack has them, and enters the function. */
void callback_enter_shown(struct parser *parser, const struct lookahead *la,
			  const struct shown_call *shown);

/* unwinding.c: how the frames inside of the first @n were left. @sure: false if calls that no event
 * told of were in progress inside of them. */
struct unwinding unwinding_of(const struct parser *parser, uint32_t n, bool sure);
/* Whether the event lands in a frame that is open: then in *@c what that leaves. */
bool unwinding_lands(const struct parser *parser, const struct lookahead *la, struct candidate *c);
/* Leaves them, with a gap where that is not sure: at @event, which is behind it. */
void unwinding_leave(struct parser *parser, const struct unwinding *unwinding,
		     const struct pugmark_witness_event *event);
/* Opens the frames inside of the innermost that the calls in @links made, up to one of @func of
 * @module. */
void parser_open_frames(struct parser *parser, uint16_t module, uint32_t func,
			const struct stack_link *links, int n);
/* preempted.c: Go: before the event is asked about, ends a function that was preempted, nobody
 * knows where between two of its events, if the event says that it has returned. */
void parser_end_preempted(struct parser *parser, const struct lookahead *la);
/* bottom.c: whether frame @f is the first one of its stack, by where it returns to. */
bool parser_is_bottom(const struct parser *parser, const struct frame *f);
/* In *@callee the frame of what call @node, of the frame @f, has called, before anything shows;
 * false: it need not be one of ours. */
bool parser_callee_of(const struct parser *parser, const struct frame *f, uint32_t node,
		      struct frame *callee);
/* switch.c: forgets the stacks that were left and of which the event's shows that they are no more,
 * once ask_switch() has looked for the one that it goes on in, which is @c, or NULL. */
void parser_forget_overwritten(struct parser *parser, const struct lookahead *la,
			       const struct candidate *c);
/* thread_begin.c: the entry of a thread's next function from outside: all that was open has ended.
 */
void parser_enter_root(struct parser *parser, const struct lookahead *la);

/* ---- misfit.c: no cause, or several ---- */

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
/* signal_stack.c: a signal has come, but not on the current stack, by what is known of it: where it
 * came on one that was left, or on a new one in its first function, goes on there, and brings it up
 * to the place. Returns whether it did. */
bool parser_settle_elsewhere(struct parser *parser, const struct pugmark_witness_event *event);
/* attach.c: opens the frames that the stack of a PUGMARK_EVENT_ATTACH tells of, and says where the
 * next event's is. */
void parser_attach(struct parser *parser, const struct pugmark_witness_event *event);
/* A signal has come right after that: goes on from where it finds the thread. Returns whether it is
 * known how. */
bool parser_begin_placed(struct parser *parser, const struct pugmark_witness_event *event);
/* Whether it is known what is next at the place @at, in the midst of a function of ours: before a
 * decision that leads to the instruction, or about to make a call whose event has been. Then @frame
 * has that, and *@position says which (enum position). */
bool parser_stopped_at(const struct parser *parser, const struct place *at, struct frame *frame,
		       uint8_t *position);
/* It is not known how: the event that the stack was unwound for comes behind the handler. */
void parser_attach_waits(struct parser *parser);
/* While that one waits: another signal has come, where the stack shows that the handler of the one
 * before has ended. */
void parser_attach_handler_over(struct parser *parser, const struct pugmark_witness_event *event);
/* Behind each event but those that shortcuts lead to: forgets what the attach told, unless @event
 * or what runs comes before that is due. */
void parser_attach_end(struct parser *parser, const struct pugmark_witness_event *event);
/* thread_end.c: the task has ended: unless it was stopped in the middle, what is still open and can
 * end in silence did. */
void parser_finish(struct parser *parser, bool stopped);

#endif
