/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* insns.h: the instructions that a run has executed, by address, each with its history: what it has
 * done, as hashes, in the order of time. What is hashed is history.c's to say. */
#ifndef OFFLINE_MATCH_INSNS_H
#define OFFLINE_MATCH_INSNS_H

#include "offline/base/vec.h"
#include "offline/dep/dep.h"

enum match_kind { MATCH_RESULT, MATCH_LOAD, MATCH_STORE, MATCH_JUMP, MATCH_KINDS };

enum { MATCH_MAKERS = 6 };
/* A maker that is no instruction but an imported function: this bit and a hash of its name. */
#define MATCH_MAKER_CALL (1u << 31)

struct match_insn {
	uint64_t ip; /* run-time */
	uint16_t mnemonic;
	uint8_t kind; /* enum match_kind */
	uint8_t n_makers;
	uint32_t
		makers[MATCH_MAKERS]; /* 1 + the instruction's number, or MATCH_MAKER_CALL | hash */
	uint64_t first[2];	      /* of match_layout_value(): of its address, of its result */
	uint32_t *what;		      /* a hash each time; of a jump bit 0: taken */
	uint32_t *when;		      /* instructions before it, or UINT32_MAX */
	uint32_t n, room;
};

struct match_insns {
	VEC(struct match_insn) of;	  /* by number, in the order in which they were met */
	struct vec_u32 slots;		  /* a hash table of numbers + 1, by address; n of them */
	VEC(uint32_t *) numbers_of_block; /* by number of the block; NULL: not met yet */
};

/* Starts as zeros. */
void match_insns_deinit(struct match_insns *insns);
/* The numbers of the block's instructions, which are met if they have not been. They live as long
 * as @insns. NULL: memory is out. */
const uint32_t *match_insns_of_block(struct match_insns *insns, const struct dep_block *block);
/* It has done @what, @count instructions after the run's first. false: memory is out. */
bool match_insn_note(struct match_insn *insn, uint64_t count, uint32_t what);
/* One of its operands was made by @maker, as in makers; 0: by nobody. @number is its own. */
void match_insn_made_by(struct match_insn *insn, uint32_t number, uint32_t maker);

static inline uint64_t match_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

#endif
