/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* walker_impl.h: the parts of the walker among themselves: the machine (walker_machine.c), code of
 * the program (walker_code.c), and what lies beyond it (walker_foreign.c). */
#ifndef TESTS_WALKER_IMPL_H
#define TESTS_WALKER_IMPL_H

#include "tests/support/random_program.h"
#include "tests/support/walker.h"

#include <stdlib.h>

#define BIAS 0x555500000000ull
#define FOREIGN 0x7f0000001000ull
#define TRAMPOLINE 0x7f0000009000ull
#define SNAPSHOT_WORDS 512
#define DEEP_WORDS 16384
#define DEEP_NEAR_WORDS 8192
#define DEEP_MARGIN 1024 /* bytes */
#define STACK_TOP 0x7ffffff00000ull
#define STACK_WORDS 65536
#define ALT_TOP 0x600000800000ull /* of the stack that some handlers run on */
#define ALT_WORDS 65536
#define ALT_SPARE 65536 /* bytes at its end that no call begins in: for frames of other code */
#define FRAMES_MAX 200
#define LEAST_HEIGHT 16
#define SAVED_WORDS 6
#define SIGNAL_WORDS 25 /* of a signal frame, that the parser looks at */

struct walk_frame {
	uint32_t func; /* PUGMARK_NONE: foreign */
	uint64_t cfa, ret;
	uint32_t block;	 /* where it is */
	uint64_t sp, ip; /* while it runs itself */
	uint64_t leaf;	 /* where the return address lies of a call that does not come back */
	bool ahead;	 /* it has not been called yet */
	bool opaque;	 /* func is PUGMARK_NONE: of a function that is out of scope */
};

/* How adventurous a walk is, in percent of the occasions. */
struct temper {
	uint32_t signal; /* in ten thousandths */
	uint32_t throws, callback, into_program;
	bool alt_stack;
	bool told;    /* signals are events, as the kernel delivers them */
	bool untidy;  /* frames keep what earlier calls have left there */
	bool unwound; /* all code has call frame information, and the recorder uses it */
};

/* The words below the tops of the two stacks, and how many of them a walk has used. */
struct memory {
	uint64_t stack[STACK_WORDS], alt[ALT_WORDS];
	uint32_t stack_used, alt_used;
};

struct walker {
	const struct program *prog;
	const struct choice *choice;
	const struct pugmark_plan *plan;
	const uint32_t *site_of, *entered;
	const bool *live;
	uint32_t n_entered;
	const uint32_t *opaque;
	uint32_t n_opaque;
	bool scoped;
	struct temper temper;
	struct walk *walk;
	struct walk_frame stack[FRAMES_MAX];
	uint32_t n;
	uint64_t rng, time_ns;
	struct memory *memory;
	uint64_t last_cfa; /* of the last event */
	uint32_t returned; /* steps when the last handler returned */
	uint32_t handlers; /* how many are open */
	uint32_t survivor; /* THROWN: index of the frame that it lands in; NONE: of none */
	bool again;	   /* THROWN: it has landed, and no event has told that yet */
	uint32_t target;   /* target_told: the function that the last event has read, or NONE */
	bool target_told;  /* by an indirect jump that leaves its function on one of its ways */
	uint32_t steps, limit;
	bool told;	   /* the target of the jump that is made next is */
	uint32_t nameless; /* steps up to a call in progress of which only an entry says where it
			      goes */
};

/* RETURNED: to the caller; OVER: the walk ends here; THROWN: on the way to the survivor. */
enum outcome { RETURNED, OVER, THROWN };

#define PUSH(array, n, cap, value)                                                                 \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? 2 * (cap) : 64;                                            \
			(array) = realloc((array), (cap) * sizeof(*(array)));                      \
		}                                                                                  \
		(array)[(n)++] = (value);                                                          \
	} while (0)

/* walker_machine.c */
void walker_forget_memory(struct walker *w);
void walker_store(struct walker *w, uint64_t addr, uint64_t value);
/* One line of the trace. */
void walker_step(struct walker *w, uint8_t kind, uint8_t cause, uint64_t addr, uint64_t target);
/* What the probe in @block sends; @callee_cfa: 0, or that frame's instead of its own. */
void walker_event(struct walker *w, uint32_t block, uint64_t val, uint64_t callee_cfa);
void walker_push_frame(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret);

/* The next event may show a stack that is not read as far up as it would say something. */
static inline void walker_blind(struct walker *w)
{
	if (w->walk->blind > w->walk->n_events)
		w->walk->blind = w->walk->n_events;
}

/* The stack from @from upwards, for @e; what lies further up, to @end, as far as it matters. At
 * @frame there is one that a signal has made; 0: nowhere. */
void walker_snapshot(struct walker *w, struct pugmark_witness_event *e, uint64_t from, uint64_t end,
		     uint64_t frame);

/* walker_code.c: calls a function of the program. */
enum outcome walker_call_function(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret);

/* Runs the topmost frame from @block on. */
enum outcome walker_run_frame(struct walker *w, uint32_t block);
/* What the topmost frame holds down to @sp, where it makes a call. */
void walker_grow_frame(struct walker *w, uint64_t sp);

/* walker_opaque.c: calls a function that is out of scope; jumps to any from code that is not
 * traced, or calls it. */
enum outcome walker_call_opaque(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret);
enum outcome walker_become(struct walker *w, uint32_t func);
enum outcome walker_enter_from_outside(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret);
bool walker_is_opaque(const struct walker *w, uint32_t func);
bool walker_returns_to_opaque(const struct walker *w, uint64_t ret);

/* walker_foreign.c: what the frame of other code from @top down to @below holds. */
void walker_fill_foreign(struct walker *w, uint64_t below, uint64_t top);
/* Runs the topmost frame, which is foreign; calls such code. */
enum outcome walker_run_foreign(struct walker *w, bool returns);
enum outcome walker_call_foreign(struct walker *w, uint64_t cfa, uint64_t ret, bool returns);
/* Where a throw can land in @frame: a landing pad, or where a setjmp returned that is done. */
uint32_t walker_landing_block(struct walker *w, const struct walk_frame *frame);
/* Throws to some frame that has a landing pad; OVER where there is none. @surely: out of a call
 * that does not return. */
enum outcome walker_throw_up(struct walker *w, bool surely);

/* walker_signal.c: whether the plan says where the frame lies of what runs at @ip. */
bool walker_frame_told(const struct walker *w, uint64_t ip);
/* Now and then a signal comes. */
enum outcome walker_maybe_signal(struct walker *w);
/* One that has no handler, and kills. */
void walker_die(struct walker *w);

static inline uint64_t walker_func_addr(const struct walker *w, uint32_t func)
{
	if (func == PUGMARK_NONE || w->prog->funcs[func].flags & PROG_OPAQUE)
		return 0;
	return w->prog->funcs[func].addr;
}

/* Whether a frame at @addr would run over the end of the stack that handlers run on: the program
 * would end there. */
static inline bool walker_off_stack(uint64_t addr)
{
	return addr < ALT_TOP - 8ull * ALT_WORDS + ALT_SPARE;
}

static inline bool walker_full(const struct walker *w)
{
	return w->n + 2 >= FRAMES_MAX || w->steps > w->limit;
}

static inline uint32_t walker_pick_entered(struct walker *w)
{
	return w->n_entered ? w->entered[random_below(&w->rng, w->n_entered)] : PUGMARK_NONE;
}

/* The same, or one that is out of scope. */
static inline uint32_t walker_pick_callee(struct walker *w)
{
	if (w->n_opaque && random_chance(&w->rng, 30))
		return w->opaque[random_below(&w->rng, w->n_opaque)];
	return walker_pick_entered(w);
}

#endif
