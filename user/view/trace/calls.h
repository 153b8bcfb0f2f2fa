/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* calls.h: turns the events of one thread into calls that begin and end. It keeps the stack of open
 * calls: functions of traced modules, and above them a call out of these. That call's return is no
 * event; it is over when the next event is not a callback from it. When a thread switches to
 * another stack, what is open on the first stays as it is. */
#ifndef USER_CALLS_H
#define USER_CALLS_H

#include <pugmark/trace_event.h>

#include "user/view/trace/stacks.h"

#include <stdbool.h>
#include <stddef.h>

struct call {
	uint64_t from_ns, to_ns; /* it began between these two */
	uint64_t site;		 /* address of the call or jump; 0: entered from outside */
	uint64_t entered_from;	 /* PUGMARK_TRACE_ENTER: the event's `outside`; else 0 */
	const char *import;	 /* outside: its name, or "" */
	uint32_t func;		 /* of its module's plan; PUGMARK_NONE: outside, or not known */
	uint32_t depth;		 /* the trace's depth while this is the innermost */
	uint16_t module;	 /* outside: the module that calls */
	uint8_t how;		 /* PUGMARK_TRACE_CALL, PUGMARK_TRACE_TAIL, PUGMARK_TRACE_ENTER;
				    PUGMARK_TRACE_GAP: it was found open	     after a gap */
	uint8_t cause;		 /* PUGMARK_TRACE_ENTER: enum pugmark_trace_cause */
	bool outside;
};

/* Whether it was found open, so that it had begun before it was seen, and is no call that was made:
 * after a gap, when it was attached to, or on a stack that another thread has left. */
static inline bool call_was_open(const struct call *call)
{
	return call->how == PUGMARK_TRACE_GAP ||
	       (call->how == PUGMARK_TRACE_ENTER &&
		(call->cause == PUGMARK_CAUSE_ATTACH || call->cause == PUGMARK_CAUSE_RESUMED));
}

enum call_end {
	CALL_RETURNED,
	CALL_JUMPED,   /* it was left by a tail call */
	CALL_UNWOUND,  /* by an exception or longjmp */
	CALL_GIVEN_UP, /* in a gap: how and when is not known */
	CALL_OPEN,     /* at the end of the thread */
};

/* The call at @level of the stack begins: stack[0..level] are open. For a call that is left by
 * @end, between @from_ns and @to_ns, ->leave comes while it still is at @level. */
struct calls_sink {
	void (*enter)(void *ctx, const struct call *stack, uint32_t level);
	void (*leave)(void *ctx, const struct call *stack, uint32_t level, enum call_end end,
		      uint64_t from_ns, uint64_t to_ns);
	void (*gap)(void *ctx, const struct pugmark_trace_event *event);
	/* A block of the call at @level ran (level paths). May be NULL. */
	void (*block)(void *ctx, const struct call *stack, uint32_t level,
		      const struct pugmark_trace_event *event);
	/* The thread is about to leave its stack, and has left it. Each may be NULL. */
	void (*leaves_stack)(void *ctx, const struct pugmark_trace_event *event);
	void (*left_stack)(void *ctx, const struct pugmark_trace_event *event);
	size_t note_bytes; /* of the note that the sink keeps for each open call, in calls.notes */
};

struct calls {
	const struct calls_sink *sink;
	void *ctx;
	struct call *stack; /* heap */
	void *notes;	    /* heap: the sink's, of the calls on the stack, by level */
	uint32_t n, cap;
	struct stacks stacks, stacks_of_notes; /* those that were left */
	uint64_t last_from_ns;		       /* of the last event */
	uint64_t gap_from_ns, gap_to_ns;
	bool after_gap, begun;
};

void calls_init(struct calls *calls, const struct calls_sink *sink, void *ctx);
void calls_deinit(struct calls *calls);
/* 0 or -ENOMEM. */
int calls_feed(struct calls *calls, const struct pugmark_trace_event *event);
/* The thread ended at @end_ns: what is open is left as CALL_OPEN. */
void calls_finish(struct calls *calls, uint64_t end_ns);

#endif
