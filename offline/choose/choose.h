/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose.h: chooses the witnesses of a program: which blocks are marked, and how. docs/theory.md
 * has the grammar, the conflict rule and why a choice without a conflict parses uniquely. */
#ifndef OFFLINE_CHOOSE_H
#define OFFLINE_CHOOSE_H

#include "offline/program/program.h"

enum plan_mode {
	MODE_FULL,   /* every call site and every return, each apart (the Casper paper's FI) */
	MODE_BRANCH, /* the targets of branching nodes of the call-site graph (its BRI) */
	MODE_CASPER, /* its Algorithm 1 */
	MODE_BEST,   /* enriched terminals, least expected cost */
	/* Level paths: where the witnesses of functions with PROG_PATHS stand (placement.h); all
	 * else as in MODE_BEST. */
	MODE_PATHS_BLOCKS,
	MODE_PATHS_TARGETS,
	MODE_PATHS_EDGES,
	MODE_PATHS_NODES,
	MODE_PATHS_BEST,
};
#define N_PLAN_MODES (MODE_PATHS_BEST + 1)

enum mark {
	MARK_NONE,
	MARK_BLOCK,  /* the block runs: its cheapest instruction is probed */
	MARK_LAST,   /* the call or ret at its end is probed */
	MARK_BRANCH, /* the jcc at its end, with its direction */
	MARK_TARGET, /* the indirect jump or call at its end, with its target */
};

/* What no mark can tell, and where. */
struct choice_unresolved {
	uint32_t block;
	uint32_t kind; /* enum pugmark_plan_unresolved_kind */
	bool entry;    /* the function's entry, of which `block` is the first block */
};

struct choice {
	uint8_t *marks;	    /* enum mark, per block of the program */
	bool *capture_ret;  /* per block: the mark must read the return address */
	bool returns_apart; /* each ret is a node of its own: modes full, branch and casper; the
			       others where it is asked for */
	bool *whole; /* per function: too large to choose for, so that it is marked all over */
	struct choice_unresolved *unresolved;
	uint32_t n_unresolved;
	uint64_t
		steps; /* work that the choice took: blocks, alternatives and terminals looked at */
};

/* Chooses for @program. Returns 0 and a choice that the caller releases with choice_deinit(), or
 * -ENOMEM; -EDOM where some decision cannot be resolved at all, because nothing there can be
 * probed: then the choice is as good as it gets, *@unresolved says how many such places there are,
 * @out which, and the parser reports a gap when it meets one. */
int choose_witnesses(const struct program *program, enum plan_mode mode, struct choice *out,
		     uint32_t *unresolved);
/* What choices for one program share that are made one after the other. The program stays the
 * caller's. */
struct choosing;
/* Returns 0 or -ENOMEM. */
int choosing_new(const struct program *program, struct choosing **out);
void choosing_free(struct choosing *choosing);
/* As choose_witnesses(); @returns_apart: with each ret a node of its own, whatever the mode. */
int choose_witnesses_on(struct choosing *choosing, enum plan_mode mode, bool returns_apart,
			struct choice *out, uint32_t *unresolved);
/* The marks of mode full alone: @out says neither what is unresolved nor which marks must read the
 * return address, which would take as long again. Returns 0 or -ENOMEM. */
int choose_full_marks(struct choosing *choosing, struct choice *out);
/* What a choice starts from, where not from nothing (offline/plan/plan_seed.h makes it). Both
 * heap. */
struct choice_seed {
	uint8_t *marks; /* enum mark, per block of the program */
	bool *anew;	/* per function: to be chosen for from nothing */
};

/* Chooses by mode best again, after a few functions went out of scope: a mark of @seed stays where
 * all still holds with it. Much faster, and it may leave a few more witnesses than are needed. */
int choose_witnesses_seeded(const struct program *program, const struct choice_seed *seed,
			    struct choice *out, uint32_t *unresolved);
/* The choice that has the marks of @given (one a block of the program), those that no mode can do
 * without, and whatever else it takes for every decision to hold. */
int choose_witnesses_given(const struct program *program, const uint8_t *given, struct choice *out,
			   uint32_t *unresolved);
/* What its witnesses cost in a run, in ns, by the estimates; good for comparisons only. */
double choice_cost(const struct program *program, const struct choice *choice);
void choice_deinit(struct choice *choice);

#endif
