/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* residue.h: what a function leaves in general registers that a model has done at once, or another
 * variant of it (variants.c). A call may change nine of them, and nobody reads what it leaves there
 * but who stores all that may hold arguments, as functions with variable arguments do. When that
 * happens the function's own code is walked, from the registers before the call and with nothing
 * known of memory, along all ways that this leaves open. What is the same at all ends is known. The
 * same walk says where in its midst the call cannot have been with certain registers. */
#ifndef OFFLINE_REPLAY_LIBRARIES_RESIDUE_H
#define OFFLINE_REPLAY_LIBRARIES_RESIDUE_H

#include "offline/eval/machine.h"

enum { RESIDUE_CALLS = 16, RESIDUE_NEAR = 16 };

/* A call; of the registers (bits) that are exact, what was in them before it and what is behind it.
 */
struct residue_call {
	uint64_t ip; /* run-time, of the code that ran */
	uint64_t regs[16];
	uint64_t bases[2]; /* of FS and GS */
	uint64_t said[16]; /* of those before it that are not exact: value_known.said; 0: no matter
			    */
	uint64_t over;	   /* value_known.said of what it has left */
	uint64_t left[16];
	uint16_t exact, left_exact;
	bool walked;
	/* Bytes at the second argument, which functions that copy little move through registers. */
	uint8_t near[RESIDUE_NEAR], near_quality[RESIDUE_NEAR];
};

/* The last calls, a ring. Zeros: none. May be copied, as part of a moment of a run. */
struct residues {
	struct residue_call at[RESIDUE_CALLS];
	uint64_t n;
};

/* Before such a call: @ip is the code that ran. When it is over it is added to @r. */
void value_residue_begin(struct residue_call *c, struct value_machine *m, uint64_t ip);
void value_residue_end(struct residues *r, struct value_machine *m, const struct residue_call *c);

struct residue_walker;
/* Walks code as @memory has it, which is borrowed. NULL: no memory. */
struct residue_walker *value_residue_walker_new(struct value_memory *memory);
void value_residue_walker_free(struct residue_walker *w);
/* Whether all code that it has walked is mapped still, as it was. */
bool value_residue_walker_fits(const struct residue_walker *w);
/* What is in general register @reg, of which value_known.said is @said. False: nothing tells. */
bool value_residue_recall(struct residues *r, struct residue_walker *w, unsigned reg, uint64_t said,
			  uint64_t *value);

/* Where a call may have been: the general registers of @known (bits) were @regs there. */
struct residue_moment {
	uint64_t ip;
	uint64_t regs[16];
	uint16_t known;
};

/* Whether some way of the call's code leads there. True as well if not all ways can be walked. */
bool value_residue_may_come_by(struct residue_walker *w, const struct residue_call *c,
			       const struct residue_moment *there);

#endif
