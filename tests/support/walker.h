/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* walker.h: runs a program at random and writes down twice what happens: as the whole call trace,
 * and as the witness events that the probes of a plan would send. Recovering the first from the
 * second is what the project is about. The walker knows the program and the marks, not the
 * grammar. */
#ifndef TESTS_WALKER_H
#define TESTS_WALKER_H

#include <pugmark/event.h>
#include <pugmark/plan.h>
#include <pugmark/trace_event.h>

#include "offline/choose/choose.h"
#include "offline/recover/tables/parse_tables.h"

/* What is compared of a trace event. */
struct walk_step {
	uint64_t addr, target;
	uint32_t depth; /* frames of the program open before it */
	uint8_t kind;	/* enum pugmark_trace_kind */
	uint8_t cause;	/* enum pugmark_trace_cause, of PUGMARK_TRACE_ENTER */
};

/* A throw out of foreign code that could have returned: what ran in silence before it is not in
 * the log, so steps[first .. resume) may be a gap when events[event] comes. */
struct walk_throw {
	uint32_t first, resume, event;
};

struct walk {
	struct walk_step *steps;
	struct walk_throw *throws;
	struct pugmark_witness_event *events; /* the last is PUGMARK_EVENT_END */
	uint32_t n_steps, cap_steps, n_throws, cap_throws, n_events, cap_events;
	uint32_t decided;    /* steps up to the last event: what must be recovered */
	uint32_t blind;	     /* the first event from which on a stack may be one that is not read
				as far up as it would say something */
	uint32_t n_handlers; /* how many signals had one */
	bool untidy;	     /* frames kept old return addresses */
	bool told;	     /* signals were events */
	bool unresolved;     /* the plan has unresolved places: any gap may end the comparison */
	bool unwound;	     /* snapshots are without what only looks like return addresses */
	uint64_t *stacks;    /* snapshots, one after the other */
	uint32_t n_stacks, cap_stacks;
};

/* What all walks over one program share. */
struct walk_ground {
	const struct program *prog;
	const struct choice *choice;
	const struct pugmark_plan *plan;
	struct parse_tables *tables;
	uint32_t *site_of; /* per block */
	bool *live;	   /* per block: something can follow that shows, or a return */
	uint32_t *entered; /* functions that may be entered from anywhere */
	uint32_t n_entered;
	uint32_t *opaque; /* functions out of scope whose address is taken */
	uint32_t n_opaque;
	bool scoped; /* there are functions out of scope */
};

/* Borrows all three until walk_ground_deinit(). Of a plan for some functions, @prog has the others
 * as well (PROG_OPAQUE). */
void walk_ground_init(struct walk_ground *ground, const struct program *prog,
		      const struct choice *choice, const struct pugmark_plan *plan);
void walk_ground_deinit(struct walk_ground *ground);
/* Walks from function @func for about @limit blocks. The caller releases with walk_deinit(). */
void walk_over(const struct walk_ground *ground, uint32_t func, uint32_t limit, uint64_t seed,
	       struct walk *out);
/* The same on a ground of its own. */
void walk_program(const struct program *prog, const struct choice *choice,
		  const struct pugmark_plan *plan, uint32_t func, uint32_t limit, uint64_t seed,
		  struct walk *out);
void walk_deinit(struct walk *walk);

struct walk_verdict {
	char text[256];	    /* what differs; "" if exactly the walk came out */
	uint32_t recovered; /* steps */
	uint32_t gaps;	    /* those that a throw excuses */
	bool gap;	    /* what differs is a gap where there should be none */
	bool cut;	    /* nothing differs, but not all was recovered */
	bool unresolved; /* compared only up to a gap, as a plan with unresolved places may have */
	bool blind;	 /* compared only up to a gap where a stack was not seen far enough up */
};

/* Parses the walk's events and compares. Returns whether exactly the walk comes out. */
bool walk_check(const struct walk *walk, const struct pugmark_plan *plan,
		struct walk_verdict *verdict);
bool walk_check_over(const struct walk *walk, const struct walk_ground *ground,
		     struct walk_verdict *verdict);
/* Prints the walk's steps and events, for a person. */
void walk_print(const struct walk *walk);

#endif
