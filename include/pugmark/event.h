/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* event.h: one witness event as the parser sees it, decoded from a recording. */
#ifndef PUGMARK_EVENT_H
#define PUGMARK_EVENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum pugmark_event_kind {
	PUGMARK_EVENT_WITNESS = 0, /* a probe was hit */
	PUGMARK_EVENT_END = 1, /* the task ended. arm.stop.val: 0 if it asked to (exit, exit_group),
			  else it was  stopped wherever it was */
	PUGMARK_EVENT_LOST = 2, /* events of this task were lost here: `lost` of them */
	PUGMARK_EVENT_EXEC = 3, /* the task replaced its program: what follows is another image */
	PUGMARK_EVENT_ATTACH =
		4, /* first event of a task that ran already. Its stack, if it has one, holds
	      the return addresses of the next event, a witness or PUGMARK_EVENT_SIGNAL, and
	      nothing else; a 0 as its last word: there are no others. A large one
	      comes in several such events, the outermost part first */
	PUGMARK_EVENT_STOP = 5,	 /* the recording stopped while the task ran on */
	PUGMARK_EVENT_FORK = 6,	 /* a child goes on from here with a copy of the stack: arm.fork has
			    the number of its task */
	PUGMARK_EVENT_PAUSE = 7, /* what is probed was changed: nothing is known from here to the
			    next  PUGMARK_EVENT_ATTACH */
	PUGMARK_EVENT_SIGNAL = 8, /* a signal is delivered, or the task is about to fork, to execute
			     another program or to exit: arm.stop has
			     the sp and ip that it finds and its handler's run-time address (0: it
			     has none, and ends the task or is nothing to it), the snapshot is of
			     the stack there, and `signal` says more */
	PUGMARK_EVENT_DIVERGED = 9, /* of a merge: the runs under two shares were not the same run
			       from here on: what the task did is not known */
	PUGMARK_EVENT_TIME = 10, /* of a recording whose times are bounds: all before had happened
				    by then, and all that follows happened later */
};

enum pugmark_event_flag {
	PUGMARK_EVENT_FROM_SIGNAL = 1, /* ret is the signal trampoline: a handler was entered */
	PUGMARK_EVENT_HAS_RET = 2,     /* ret was asked for */
	PUGMARK_EVENT_HAS_TARGET = 4,  /* val is an address, or bp */
	/* PUGMARK_EVENT_WITNESS, of a landing: the handler of the last signal has not returned.
	 * Told of those signals alone that a C library keeps for itself, as to cancel threads. */
	PUGMARK_EVENT_IN_HANDLER = 16,
	PUGMARK_EVENT_DAMAGED = 8, /* PUGMARK_EVENT_LOST: not in the kernel but in the recording */
};

/* A word of a snapshot that is not known. Far from the stack pointer all words are, except
 * addresses (docs/recording-format.md). A word whose value is 1 reads as 0. */
#define PUGMARK_EVENT_STACK_UNKNOWN 1
/* Nothing is mapped below 4096 or from 2^56 on: such a word is no address, and reads as 0 in a
 * snapshot. One may lie where the first function of a stack has its return address: argc, or a
 * number that whoever made the stack has put there. */
#define PUGMARK_EVENT_ADDRESS_LOWEST 4096
#define PUGMARK_EVENT_ADDRESS_BITS 56
static inline bool pugmark_event_is_address(uint64_t word)
{
	return word >= PUGMARK_EVENT_ADDRESS_LOWEST && !(word >> PUGMARK_EVENT_ADDRESS_BITS);
}
/* Stands in place of uc_link (which is 0) in a frame that the kernel made for a handler, if call
 * frame information leads from the event's frame through it: that handler is running. */
#define PUGMARK_EVENT_STACK_HANDLER 0x6e75722072646e68

#define PUGMARK_EVENT_VALUES_MAX 32

/* What else there is to an PUGMARK_EVENT_SIGNAL. */
struct pugmark_signal_event {
	uint64_t bp;	 /* rbp that it finds */
	uint64_t caller; /* where on the stack the innermost return address into a traced module is
			    that is one of a call in progress, by call frame information;
			    PUGMARK_SIGNAL_NO_CALLER: there is none; 0: not known */
	uint64_t alt;	 /* lowest address of the stack that the handler runs on */
	uint64_t alt_bytes; /* its length; 0: it is the one that the signal finds */
};
#define PUGMARK_SIGNAL_NO_CALLER 1

struct pugmark_witness_event {
	uint64_t time_ns;  /* CLOCK_MONOTONIC; 0 where recorded without times */
	uint64_t early_ns; /* it may have happened by so much earlier; 0: it was then */
	/* What it tells. `kind` is the tag; the functions below read the arm of that kind, and
	 * nothing else does but what makes events, what writes and reads recordings, and what
	 * compares two. Every other kind has none. */
	union pugmark_event_arm {
		struct {
			uint64_t cfa; /* canonical frame address; or sp where the site's cfa_reg is
					 CFA_UNKNOWN */
			uint64_t ret; /* CAPTURE_RET: run-time return address; 0: could not be read
				       */
			uint64_t val; /* of a WITNESS_BRANCH 0 or 1: whether it is taken; of a
					 WITNESS_TARGET the run-time target address; of another site
					 with EVENT_HAS_TARGET rbp */
		} witness;	      /* PUGMARK_EVENT_WITNESS */
		struct {
			uint64_t sp, ip;
			uint64_t val; /* EVENT_SIGNAL: the handler's run-time address; 0: it has
					 none. EVENT_END: 0 if it asked to end */
		} stop;		      /* PUGMARK_EVENT_END, PUGMARK_EVENT_SIGNAL */
		struct {
			uint64_t child; /* the number of the child's task */
		} fork;			/* PUGMARK_EVENT_FORK */
	} arm;
	uint64_t lost;	       /* PUGMARK_EVENT_LOST: how many; 0: not known */
	const uint64_t *stack; /* snapshot: stack[i] is the word at stack_addr + 8*i; or NULL */
	uint64_t stack_addr;
	const uint64_t
		*values; /* those that the site reads (enum pugmark_plan_reads), n_values of them */
	uint64_t goroutine; /* PUGMARK_EVENT_WITNESS: the number of the one that runs (Go); 0: it is
			       not told */
	uint32_t stack_words;
	uint8_t n_values;
	uint64_t bias; /* run-time address minus ELF address in this module and process */
	struct pugmark_signal_event signal;
	uint32_t site;	 /* index in the module's plan */
	uint16_t module; /* index in the recording's modules */
	uint8_t kind;	 /* enum pugmark_event_kind */
	uint8_t flags;	 /* enum pugmark_event_flag */
};

/* The arms of an event. In builds that define PUGMARK_CHECKED, asking for what an event of that
 * kind has not ends the program. */
#ifdef PUGMARK_CHECKED
#define PUGMARK_EVENT_ARM(is_there) assert(is_there)
#else
#define PUGMARK_EVENT_ARM(is_there) ((void)0)
#endif

/* PUGMARK_EVENT_WITNESS: its canonical frame address; or sp where the site's cfa_reg is
 * PUGMARK_CFA_UNKNOWN. */
static inline uint64_t pugmark_event_cfa(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_WITNESS);
	return event->arm.witness.cfa;
}

/* PUGMARK_EVENT_WITNESS: its return address; 0: none was asked for, or it could not be read. */
static inline uint64_t pugmark_event_ret(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_WITNESS);
	return event->arm.witness.ret;
}

/* PUGMARK_EVENT_WITNESS: what its site has read, whichever it is; 0: nothing. */
static inline uint64_t pugmark_event_val(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_WITNESS);
	return event->arm.witness.val;
}

/* The same of a PUGMARK_WITNESS_BRANCH: whether it is taken. */
static inline bool pugmark_event_taken(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_WITNESS);
	return event->arm.witness.val;
}

/* The same of a PUGMARK_WITNESS_TARGET: the run-time address that it goes to. */
static inline uint64_t pugmark_event_target(const struct pugmark_witness_event *event)
{
	return pugmark_event_val(event);
}

/* The same of another site with PUGMARK_EVENT_HAS_TARGET: rbp. */
static inline uint64_t pugmark_event_bp(const struct pugmark_witness_event *event)
{
	return pugmark_event_val(event);
}

/* PUGMARK_EVENT_END, PUGMARK_EVENT_SIGNAL: where the task is. */
static inline uint64_t pugmark_event_sp(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_END || event->kind == PUGMARK_EVENT_SIGNAL);
	return event->arm.stop.sp;
}
static inline uint64_t pugmark_event_ip(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_END || event->kind == PUGMARK_EVENT_SIGNAL);
	return event->arm.stop.ip;
}

/* Where on the stack a witness or a PUGMARK_EVENT_SIGNAL is: its CFA, or its stack pointer. */
static inline uint64_t pugmark_event_stack_at(const struct pugmark_witness_event *event)
{
	return event->kind == PUGMARK_EVENT_SIGNAL ? pugmark_event_sp(event)
						   : pugmark_event_cfa(event);
}

/* PUGMARK_EVENT_SIGNAL: the handler's run-time address; 0: it has none. */
static inline uint64_t pugmark_event_handler(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_SIGNAL);
	return event->arm.stop.val;
}

/* PUGMARK_EVENT_END: whether the task was stopped wherever it was; false: it asked to end. */
static inline bool pugmark_event_stopped(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_END);
	return event->arm.stop.val;
}

/* PUGMARK_EVENT_FORK: the number of the child's task. */
static inline uint64_t pugmark_event_child(const struct pugmark_witness_event *event)
{
	PUGMARK_EVENT_ARM(event->kind == PUGMARK_EVENT_FORK);
	return event->arm.fork.child;
}

#endif
