/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* backslice.h: where the value in a register or a stack slot comes from, searched backwards through
 * one function's control flow. The search goes over every path; what it cannot follow makes it
 * fail, never guess. Its steps are counted against a budget, so that no input makes it slow. */
#ifndef OFFLINE_BACKSLICE_H
#define OFFLINE_BACKSLICE_H

#include "offline/code/builder.h"
#include "offline/code/semantics.h"

enum { SLICE_MAX_DEFS = 512 };

/* A place in code: just before the instruction @insn of the block @block, or after its last one. */
struct place {
	uint32_t block, insn;
};

/* What is followed: a register, or memory at a constant distance from one. */
struct loc {
	uint8_t reg; /* the register, or the base; REG_NONE: disp is an address */
	bool memory;
	int64_t disp;
};

struct backslice {
	struct builder *b;
	ZydisDecoder decoder;
	struct cfg *flow;
	uint32_t *pred_first;	    /* by block: first of its predecessors; n_blocks + 1 of them */
	struct pugmark_edge *preds; /* `to` is where the edge comes from */
	uint32_t *stamp;	    /* by block: the search that saw it last */
	uint32_t now;
	uint32_t max_blocks, max_preds;
	uint32_t *sem_of_insn; /* index into sems, 0: not decoded yet */
	VEC(struct sem) sems;
	uint64_t budget;  /* steps left for the whole module */
	uint32_t *callee; /* by function: what backslice_call_writes() knows of it */
	bool loose; /* of the search for a constant under way: a constant on any path will do */
	uint32_t nth, fuel; /* likewise: which constant; definitions left to go through */
	uint32_t n_consts;  /* the most that backslice_some_const() came upon at one place */
};

/* Begins to search a module, with a budget of its own. What was decoded the last time is kept, as
 * long as the instructions are the same; what was known of functions is not. @s is all zeroes the
 * first time. */
int backslice_begin(struct backslice *s, struct builder *b);
void backslice_deinit(struct backslice *s);
/* Begins to search the function whose CFG is @flow. */
int backslice_enter(struct backslice *s, struct cfg *flow);
/* The instruction's semantics, decoded once; NULL when out of memory. Valid until the next call. */
const struct sem *backslice_sem(struct backslice *s, uint32_t insn);

/* The registers that the call @insn may overwrite: those that its callee and its callees in turn
 * write, where all of them are known, else what the calling convention allows. A compiler that has
 * seen the callee keeps values in the others (gcc -fipa-ra, on from -O2). */
uint16_t backslice_call_writes(struct backslice *s, uint32_t insn);

/* All instructions whose write to @loc may still be there at @at. Returns how many there are, at
 * most SLICE_MAX_DEFS; 0 if they are not known on some path. */
uint32_t backslice_defs(struct backslice *s, struct loc loc, struct place at, struct place *defs);
/* The one constant that @loc holds at @at, on every path. */
bool backslice_const(struct backslice *s, struct loc loc, struct place at, uint64_t *value);
/* The one constant that the instruction at @def gives its destination, on every path. */
bool backslice_const_made(struct backslice *s, struct place def, uint64_t *value);
/* The one address that the memory operand of @sem, which is at @at, has on every path. */
bool backslice_const_operand(struct backslice *s, const struct sem *sem, struct place at,
			     uint64_t *addr);
/* The @nth constant that @loc can hold at @at, counting only paths on which it is a constant; the
 * last one if there are fewer. */
bool backslice_some_const(struct backslice *s, struct loc loc, struct place at, uint32_t nth,
			  uint64_t *value);
/* The largest value that the index @loc can have at @at, by the compares and masks on every path to
 * it. *@whole: it is what the index has room for, so that none can be larger. */
bool index_bound(struct backslice *s, struct loc loc, struct place at, uint64_t *bound, bool *exact,
		 bool *whole);

#endif
