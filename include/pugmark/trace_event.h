/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace_event.h: one event of the recovered trace. */
#ifndef PUGMARK_TRACE_EVENT_H
#define PUGMARK_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum pugmark_trace_kind {
	PUGMARK_TRACE_CALL,   /* a call instruction ran */
	PUGMARK_TRACE_TAIL,   /* a jump to another function ran */
	PUGMARK_TRACE_RET,    /* a function returned */
	PUGMARK_TRACE_UNWIND, /* a frame was left by an exception or longjmp */
	PUGMARK_TRACE_ENTER,  /* a function was entered from code that is not traced */
	PUGMARK_TRACE_GAP,    /* what happened here is not known */
	PUGMARK_TRACE_BLOCK,  /* a basic block ran (level paths) */
	PUGMARK_TRACE_VALUE,  /* a value was read (record --args) */
	PUGMARK_TRACE_SWITCH, /* the thread went on on another stack, with frames of its own: func
			 is that stack's number; 0: the one that it began on. Or what is
			 known anew is only whose stack it is, the one that it is on */
};

enum pugmark_trace_cause {
	PUGMARK_CAUSE_NONE,
	PUGMARK_CAUSE_THREAD,	 /* enter: the first function of a thread or process */
	PUGMARK_CAUSE_CALLBACK,	 /* enter: called back during a call that left the module */
	PUGMARK_CAUSE_SIGNAL,	 /* enter: asynchronously, no call of ours was in progress */
	PUGMARK_CAUSE_ATTACH,	 /* enter, gap: the recording began in the middle */
	PUGMARK_CAUSE_LOST,	 /* gap: events were lost; `lost` of them */
	PUGMARK_CAUSE_MODEL,	 /* gap: the event fits nothing that the model allows */
	PUGMARK_CAUSE_RECORDING, /* gap: the recording is damaged here */
	PUGMARK_CAUSE_UNWIND, /* gap: an exception came out of a call that could have returned, and
				 what follows that call is silent: so what ran before it is not
				 known */
	PUGMARK_CAUSE_STACK,  /* gap: the stack does not say during which call the next function was
				 called back, or where a signal found the thread */
	PUGMARK_CAUSE_PLAN,   /* gap: what is traced was changed, to keep the overhead within bounds
			       */
	PUGMARK_CAUSE_CONTEXT, /* enter: the first function on a stack that the program switched to
				*/
	PUGMARK_CAUSE_RESUMED, /* enter: a frame on a stack that was left by another thread, or
			  before the recording began; or one that was left (UNWIND) and is
			  put back */
	PUGMARK_CAUSE_SWITCH, /* gap: the thread left its stack at a place where no code is known to
				 do that */
	PUGMARK_CAUSE_UNRESOLVED, /* gap: at a place that the plan names, where nothing tells what
				   * happens
				   */
	PUGMARK_CAUSE_DIVERGED,	  /* gap: merged from runs that differ from here on */
};

/* What a PUGMARK_TRACE_VALUE is: its `cause`. */
enum pugmark_trace_value {
	PUGMARK_VALUE_PASSED,	/* an argument of the call that the next event tells */
	PUGMARK_VALUE_TAKEN,	/* an argument of the call that was told last */
	PUGMARK_VALUE_RETURNED, /* what the call that ended last returned */
	/* A word that was read through arguments: PASSED or TAKEN ones, which come before it
	 * (docs/recording-format.md). */
	PUGMARK_VALUE_READ,
	PUGMARK_VALUE_OUT, /* where argument number func of the call that ended last points to: the
			      word that is there now */
};

/* Where a thread was before a gap: in function @func, PUGMARK_NONE: not known;
 * there @decision was next, PUGMARK_NONE: nothing of its own. */
struct pugmark_trace_was {
	uint32_t func, decision;
};

struct pugmark_trace_event {
	uint64_t from_ns, to_ns; /* it happened between these two, CLOCK_MONOTONIC */
	uint64_t addr;		 /* CALL, TAIL: the instruction; RET, UNWIND, ENTER: the function;
				    BLOCK: the block; VALUE: the instruction; GAP: the instruction
				    whose event fits nothing, or which came first behind lost
				    events; 0: there is no such event */
	uint64_t target;	 /* CALL, TAIL: the callee's address; 0: not in a traced module;
				    VALUE: it; SWITCH: the number of the goroutine whose stack it
				    is (Go), 0: not known. Behind a GAP it is not known, until a
				    SWITCH tells */
	union {
		uint64_t lost; /* GAP: how many events were lost */
		/* ENTER: the run-time address that the function returns to, where its entry told
		 * it; 0: it did not. It lies in code that is not traced, or that was jumped from */
		uint64_t outside;
	};
	union {
		const char *import; /* CALL, TAIL: the import's name or "" ; lives as long as the
				       plan */
		struct pugmark_trace_was was; /* GAP */
	};
	uint32_t func;	 /* RET, UNWIND, ENTER, BLOCK: function of the plan; CALL, TAIL: the
			    callee or PUGMARK_NONE; VALUE: its number, from 0 */
	uint32_t depth;	 /* frames open before this event; SWITCH: on the stack that is left */
	uint16_t module; /* of addr */
	uint16_t target_module; /* and of was */
	uint8_t kind;		/* enum pugmark_trace_kind */
	uint8_t cause;		/* enum pugmark_trace_cause; VALUE: enum pugmark_trace_value */
	bool numbered;		/* its witness told whose stack it is (Go): that of the goroutine
				   that the last SWITCH named */
};

#endif
