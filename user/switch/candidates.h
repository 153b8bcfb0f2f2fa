/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* candidates.h: the executions of conditional jumps that are worth turning, in the order in which
 * they are tried. */
#ifndef USER_SWITCH_CANDIDATES_H
#define USER_SWITCH_CANDIDATES_H

#include "user/again/private_run.h"
#include "user/why/criterion.h"

enum candidates_order {
	ORDER_LAST, /* last executed first */
	ORDER_EACH, /* of each jump its last execution, then of each its first, then the last but
		       one of each, and so on */
};

struct candidate {
	uint64_t count; /* instructions before it */
	uint64_t ip;
	uint64_t rank;	/* of its jump's executions, by which ORDER_EACH goes */
	uint64_t place; /* in the order in which they are tried */
	struct turned_jump jump;
	uint64_t times;	    /* of all */
	unsigned same_ways; /* runs that passed in which its jump went the same ways */
	float confidence;   /* of its jump that it went the right way; 0: nothing is known */
	bool beside; /* no execution of its jump is in the slice: it may matter by what it did
			not do */
};

struct candidates {
	struct candidate *at; /* a vector (offline/base/vec.h) */
	uint32_t n, max;
	size_t in_slice;    /* those whose jumps are in the slice come first */
	uint64_t executed;  /* executions of conditional jumps */
	uint64_t elsewhere; /* in the slice, but in what was not mapped at the start: left out */
};

/* All executions before the moment that is asked about, of jumps with an execution in the slice of
 * @w first (the last round of a loop that ended too early is in no slice, the rounds before it
 * are), then (@beside) of the others. 0 or -errno with @diag filled. */
int candidates_find(struct why_run *w, const struct why_options *o, bool beside,
		    enum candidates_order order, struct candidates *out, struct pugmark_diag *diag);
void candidates_deinit(struct candidates *c);

#endif
