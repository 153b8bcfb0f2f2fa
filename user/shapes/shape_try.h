/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shape_try.h: runs instructions with and without a probe, in a child and a file of its own, and
 * says in what the state after them differs. */
#ifndef USER_SHAPES_SHAPE_TRY_H
#define USER_SHAPES_SHAPE_TRY_H

#include "user/shapes/shape_lab.h"

#include <pugmark/diag.h>

struct shape_case {
	uint8_t len, bytes[15]; /* an example of the shape */
};

struct shape_verdict {
	uint32_t differs;    /* a bit an enum lab_part */
	uint32_t under_trap; /* the same, where the trap flag is set */
	bool skipped;	     /* not run at all: it enters the kernel or another mode */
	bool untried;	     /* this processor has no such instruction */
	bool refused;	     /* no probe fires on it: the kernel refuses */
	bool repeated;	     /* a probe fires more than once */
	bool stuck;	     /* it does not end, or ends the process */
	bool stuck_bare;     /* so it does without a probe */
};

struct shape_count {
	uint64_t runs; /* of one instruction, with and without a probe */
	double seconds;
};

/* Whether trying @c is safe at all: it does not enter the kernel, and stays in 64-bit mode. */
bool shape_can_be_tried(const struct shape_case *c);
/* Tries each of @n cases many times: with other registers, flags and memory, on one page, across
 * two, at the end of the last. @count, if not NULL, is added to. Returns 0, or -errno with @diag
 * filled. */
int shapes_try(const struct shape_case *cases, uint32_t n, uint64_t seed,
	       struct shape_verdict *verdicts, struct shape_count *count,
	       struct pugmark_diag *diag);
/* Whether a probe on it changes what the program does. Not counted: where an instruction faults
 * that the kernel steps, the signal's frame tells the exception number of the fault before
 * (Linux 6.18). */
bool shape_is_harmed(const struct shape_verdict *v);
/* The name of a part of the state. */
const char *shape_part_name(enum lab_part part);

#endif
