/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* slice.h: dynamic slices, to the instance of an instruction. A backward slice is the set of
 * instances that what is asked for was computed from; a forward slice is the set of those that were
 * computed from what is asked for. */
#ifndef OFFLINE_SLICE_SLICE_H
#define OFFLINE_SLICE_SLICE_H

#include "offline/dep/dep.h"

enum slice_follow {
	SLICE_DATA = 0,
	SLICE_ADDRESSES = 1, /* what says where a memory operand lies is followed as well */
	SLICE_PINNED = 4,    /* only to operands that a right result shows to be right */
	SLICE_INSIDE = 2,    /* nothing is followed through code outside and the kernel */
};

/* Registers that are asked for as well, in the state before instruction @count. */
struct slice_more {
	uint64_t count;
	struct dep_units units;
};

/* What is asked for, in the state before instruction @count: registers, definitions (of bytes of
 * memory; 0 is none), and (@insn) what the instruction there reads. The instruction is in the slice
 * then. */
struct slice_criterion {
	uint64_t count;
	struct dep_units units;
	const uint32_t *defs;
	uint64_t n_defs;
	bool insn;
	bool events;  /* forward: from what happened right before @count on, a read of bytes for one
		       */
	bool decided; /* with control: and what decided that instruction @moment was reached */
	uint64_t moment;
	const struct slice_more *more; /* backward: by count, the last first */
	size_t n_more;
	struct dep_units *left; /* backward: where to put what of registers is in the slice as the
				   trace begins; NULL */
	uint64_t **tainted; /* forward: where to put a bit for each definition that is in the slice,
			   which the caller frees; NULL */
};

/* One instance: an instruction (@event NULL, or a string instruction's), or an event. */
struct slice_step {
	uint64_t count; /* instructions before it */
	uint64_t ip;
	const struct dep_block *block;
	const struct dep_insn *insn; /* NULL: an event */
	const struct dep_event *event;
	uint32_t first,
		last;  /* the definitions of the event that are in the slice, as a range; 0: none */
	uint64_t load; /* of an instruction, where @reads: its first load word */
	bool reads;    /* what it reads is followed */
	bool ends;     /* what it depends on is not known: the slice ends here */
};

/* Is told of each instance once, in the order of the scan; of an event that read input, once for
 * each run of its bytes. */
typedef void slice_visit_fn(void *ctx, const struct slice_step *step);

struct slice_control; /* control.h */

/* 0 or -ENOMEM. @control: NULL, or control dependences are followed as well. */
int slice_backward(const struct dep_trace *trace, const struct slice_criterion *criterion,
		   unsigned follow, const struct slice_control *control, slice_visit_fn *visit,
		   void *ctx);
/* From what is asked for on; @criterion->insn: from what the instruction writes. */
int slice_forward(const struct dep_trace *trace, const struct slice_criterion *criterion,
		  unsigned follow, const struct slice_control *control, slice_visit_fn *visit,
		  void *ctx);

#endif
