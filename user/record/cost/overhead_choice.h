/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* overhead_choice.h: which functions have to go, so that the others cost no more than they may. */
#ifndef USER_OVERHEAD_CHOICE_H
#define USER_OVERHEAD_CHOICE_H

#include "user/kernel/record_options.h"

#include <linux/types.h>
#include "bpf/protocol.h"
#include <stdbool.h>

/* A function and what its probes cost. */
struct func_cost {
	double cost_ns;
	double entry_ns; /* what a probe at its entry will cost as well */
	uint64_t calls;
	uint32_t module, func;
	bool out;
};

/* Zeroed to begin with. Who measures fills in the costs and share. */
struct overhead_choice {
	const struct recorder_options *now; /* borrowed */
	struct func_cost *costs;	    /* of all functions, module by module; heap */
	uint32_t n;
	uint32_t first[BATCH_MODULES]; /* of each module's in there */
	float *site_ns[BATCH_MODULES]; /* what each site has cost; the first: heap */
	double each_ns;		       /* what a hit of the cheapest class costs */
	double stack_ns;	       /* and where the stack comes with it, in addition */
	double share;		       /* of the time since the last change: what was measured */
};

/* For the modules of @now, with no costs. Returns 0 or -ENOMEM. */
int overhead_choice_init(struct overhead_choice *c, const struct recorder_options *now);
void overhead_choice_deinit(struct overhead_choice *c);
/* Puts the hottest functions in @taken, which has room for all of them, until the rest costs no
 * more than @bound_ns; in *@names what they are called (the caller frees). Returns how many go, or
 * -ENOMEM. */
int overhead_choice_make(struct overhead_choice *c, double bound_ns, struct taken_out *taken,
			 char **names);

#endif
