/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reads.h: what the instructions of a block read and write, as dependences see it: registers in
 * units that no instruction touches in part, memory operands in the order of the trace.
 *
 * Units: of a general register bytes 0, 1, 2 to 3, 4 to 7; of a vector register bytes 0 to 3, 4 to
 * 7, 8 to 15, 16 to 31; of AVX-512 each row (state.h) and each mask register; each flag; the x87
 * stack as a whole; the direction flag. The exception flags of MXCSR, which every SSE instruction
 * touches, are left out: MXCSR is what ldmxcsr loads.
 *
 * Reads are of two kinds: *data*, which the result is computed from, and *address*, which says
 * where a memory operand lies. The stack pointer of push, pop, call, ret and leave is moved apart
 * from what else they do: it depends on itself (rbp for leave) and nothing of theirs depends on it
 * but as an address. The same holds for the pointers and the counter of string instructions. */
#ifndef OFFLINE_DEP_READS_H
#define OFFLINE_DEP_READS_H

#include "offline/eval/machine.h"

enum {
	DEP_WORDS = 4,
	DEP_WORD_GPR = 0,
	DEP_WORD_VEC = 1,
	DEP_WORD_REST = 2, /* bits 0 to 5: CF, PF, AF, ZF, SF, OF */
	DEP_WORD_WIDE = 3, /* rows from 16 on, then masks */
	DEP_BIT_X87 = 6,
	DEP_BIT_MXCSR = 7,
	DEP_BIT_DF = 8,
};

/* A set of units. */
struct dep_units {
	uint64_t w[DEP_WORDS];
};

static inline bool dep_units_any(const struct dep_units *u)
{
	return u->w[0] | u->w[1] | u->w[2] | u->w[3];
}

static inline bool dep_units_meet(const struct dep_units *a, const struct dep_units *b)
{
	return (a->w[0] & b->w[0]) | (a->w[1] & b->w[1]) | (a->w[2] & b->w[2]) |
	       (a->w[3] & b->w[3]);
}

static inline void dep_units_add(struct dep_units *to, const struct dep_units *more)
{
	for (int i = 0; i < DEP_WORDS; i++)
		to->w[i] |= more->w[i];
}

static inline void dep_units_remove(struct dep_units *from, const struct dep_units *gone)
{
	for (int i = 0; i < DEP_WORDS; i++)
		from->w[i] &= ~gone->w[i];
}

/* The units of @len bytes at @off of a general or a vector register. */
struct dep_units dep_units_gpr(unsigned reg, unsigned off, unsigned len);
struct dep_units dep_units_vec(unsigned reg, unsigned off, unsigned len);

/* A memory operand: the index of its address among those that the instruction adds to a trace. */
struct dep_operand {
	uint8_t address;
	uint16_t len; /* bytes */
};

/* One memory access of a block, in the order of execution. */
struct dep_access {
	uint16_t address; /* index among the block's addresses */
	uint16_t len;
	bool store;
};

struct dep_insn {
	struct dep_units data, address; /* read */
	struct dep_units writes;	/* of them, @kills are written whatever happens */
	struct dep_units kills;
	struct dep_units
		moved; /* stack pointer or string registers: written from @moves_by apart */
	struct dep_units moves_by;
	bool string;	  /* what it does to memory is an event (dep.h) */
	bool predicate;	  /* a conditional jump, or an indirect one that is no return */
	int8_t direction; /* std -1, cld 1 */
	uint8_t n_loads, n_stores, n_addresses;
	uint8_t n_results; /* words that it adds to a trace */
	struct dep_operand loads[2], stores[2];
	uint32_t ip_off; /* of its block's address */
};

/* A block, or the only instruction of one. */
struct dep_block {
	struct dep_units data, address, writes; /* of all its instructions together; @moved is in */
	uint64_t ip;
	uint32_t number; /* of the evaluator's */
	uint32_t n_loads, n_stores, n_strings;
	uint16_t n_insns;
	uint8_t last_kind; /* enum value_insn_kind of the last instruction */
	bool single;
	uint32_t n_accesses;
	uint16_t n_addresses, n_results;
	bool slow; /* has a string instruction, or one that turns their direction */
	const struct value_block *block;
	struct dep_access *accesses; /* but those of string instructions */
	struct dep_insn insns[];
};

/* What @block's instructions read and write. NULL: memory is out; else to be freed with free(). */
struct dep_block *dep_block_new(const struct value_block *block);

#endif
