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

#include "offline/choose.h"

/* What is compared of a trace event. */
struct walk_step {
	uint8_t kind; /* enum trace_kind */
	uint64_t addr, target;
};

struct walk {
	struct walk_step *steps;
	struct witness_event *events; /* the last is EVENT_END */
	uint32_t n_steps, cap_steps, n_events, cap_events;
	uint32_t decided; /* steps up to the last event: what must be recovered at least */
	bool callbacks;	  /* set before the walk: foreign code may call back */
	bool finished;	  /* it ran to the end of the first function */
	uint64_t *stacks; /* snapshots, one after the other */
	uint32_t n_stacks, cap_stacks;
};

/* Walks from @func for about @limit blocks. The caller releases with walk_deinit(). */
void walk_program(const struct program *prog, const struct choice *choice,
		  const struct pugmark_plan *plan, uint32_t func, uint32_t limit, uint64_t seed,
		  struct walk *out);
void walk_deinit(struct walk *walk);

/* Parses the walk's events and compares. Returns NULL if exactly the walk comes out, else what
 * differs, in a static buffer. */
const char *walk_check(const struct walk *walk, const struct pugmark_plan *plan);
/* Prints the walk's steps and events, for a person. */
void walk_print(const struct walk *walk);

#endif
