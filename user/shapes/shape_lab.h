/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shape_lab.h: what the parent and the child share who try instructions with and without a probe.
 *
 * The child maps a file of code in which each instruction stands alone between `hlt`s. A trial sets
 * all registers and a window of memory, runs one instruction, and keeps all state at the signal
 * that comes next: that of the `hlt` behind it, that of the trap flag, or its own fault. */
#ifndef USER_SHAPES_SHAPE_LAB_H
#define USER_SHAPES_SHAPE_LAB_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LAB_CODE = 0x10000000,	 /* below 2 GiB, for absolute and 32-bit addresses */
	LAB_WINDOW = 0x40000000, /* memory that trials read and write, between unmapped pages */
	LAB_WINDOW_BYTES = 16384,
	LAB_SEGMENT_BASE = 0x100, /* of fs and gs while an instruction runs */
	LAB_MOST_TRIALS = 2048,
};

/* What of a state can differ; names in shape_parts.c. */
enum lab_part {
	PART_REGISTERS = 16, /* and before it one a general register, as the kernel orders them */
	PART_RIP = 16,
	PART_FLAGS,
	PART_SIGNAL,
	PART_FAULT,	  /* error code, address */
	PART_TRAP_NUMBER, /* which of the processor's exceptions */
	PART_SEGMENTS,
	PART_MEMORY,
	PART_X87,
	PART_X87_POINTERS, /* the last x87 instruction and operand */
	PART_MXCSR,
	PART_XMM,
	PART_YMM,
	PART_MASKS,
	PART_ZMM,
	PART_OTHER, /* other components of the xsave area */
	N_PARTS,
};

struct lab_outcome {
	uint64_t part[N_PARTS]; /* a value, or a hash of many */
};

struct lab_trial {
	uint64_t ip;
	uint64_t seed;
	uint16_t small_registers; /* those that hold a small number, and no address in the window */
	bool small_vectors;
	bool trap; /* with the trap flag */
};

struct lab {
	volatile uint32_t done; /* trials that are over */
	volatile uint32_t ready;
	uint32_t n;
	struct lab_trial trials[LAB_MOST_TRIALS];
	struct lab_outcome outcomes[LAB_MOST_TRIALS];
};

/* In a child of its own: makes the @lab's trials from number lab->done on, and does not return. */
_Noreturn void shape_child_run(struct lab *lab);

#endif
