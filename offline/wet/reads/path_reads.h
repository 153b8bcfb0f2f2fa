/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* path_reads.h: what the statements of a path read from before it, which of them touch memory, and
 * what they leave in registers: all that is needed to say whose results an execution has read. */
#ifndef OFFLINE_WET_PATH_READS_H
#define OFFLINE_WET_PATH_READS_H

#include "offline/dep/reads.h"

enum { WET_UNITS = 64 * DEP_WORDS };

/* Operands of a statement: units of registers, then loads. */
enum { WET_MEMORY = 256 };

/* A register that a statement reads and no statement before it in its node has written. */
struct wet_outer {
	uint16_t stmt; /* in the node */
	uint8_t unit;  /* reads.h */
	uint8_t run;   /* so many from here on are of this statement, and of units in a row */
	uint32_t edge; /* by which it read it the last time, plus one; 0: by none yet */
};

/* What is in @run register units from @unit on when the node is left. */
struct wet_last {
	uint8_t unit, run;
	uint16_t stmt;
};

/* A statement that reads or writes memory, or turns the direction of string instructions. */
struct wet_access {
	uint16_t stmt; /* in the node */
	uint8_t n_loads, n_stores;
	bool string;	    /* it makes more definitions, as many as it is told each time */
	bool writes;	    /* a string instruction that does */
	int8_t direction;   /* struct dep_insn */
	uint16_t size;	    /* bytes of a turn of a string instruction */
	uint32_t addresses; /* those of its path before its own */
	struct dep_operand loads[2], stores[2];
};

struct wet_reads {
	uint64_t n_inner; /* edges between its statements by registers: all inferred */
	struct wet_outer *outer;
	struct wet_access *accesses;
	struct wet_last *last;
	uint32_t *addresses; /* of the statements before each, and of all */
	uint32_t n_outer, n_accesses, n_last, n_loads, n_stmts;
};

struct wet_path_insn {
	const struct dep_insn *dep;
	const struct value_insn *insn;
};

/* False: memory is out. */
bool wet_reads_make(const struct wet_path_insn *insns, uint32_t n, struct wet_reads *out);
void wet_reads_deinit(struct wet_reads *reads);

/* The units that an instruction reads, and those that are new behind it. */
struct dep_units wet_insn_reads(const struct dep_insn *insn);
struct dep_units wet_insn_writes(const struct dep_insn *insn);

#endif
