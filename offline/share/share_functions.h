/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_functions.h: shares of whole functions, for processes that live and whose runs are not
 * merged (docs/shares.md, "Shares of processes that live"). */
#ifndef OFFLINE_SHARE_FUNCTIONS_H
#define OFFLINE_SHARE_FUNCTIONS_H

#include "offline/program/program.h"

#include <stdbool.h>

/* What such a split is expected to cost, in calls (a call of its own function or by it counts half
 * each). */
struct share_functions_cost {
	double calls;	/* all of them: what one share of everything would have */
	double between; /* those from one share into another */
};

/* What a call from another share costs more, in hits: its entry has a witness that no caller
 * spares, and that brings its stack. */
#define SHARE_ENTRY_HITS 3

/* Calls that the program does not name a callee for: by pointers, as they were counted. */
struct share_call {
	uint32_t caller, callee; /* functions */
	double calls;
};

/* Splits the functions of @prog over @n shares, at least 1, so that few calls lead from one into
 * another, by how often each is expected, and by @by_pointer. share[f] is a number below @n. The
 * same program with the same frequencies is split in the same way on each machine. 0 or -ENOMEM;
 * @cost may be NULL. */
int share_functions(const struct program *prog, const struct share_call *by_pointer,
		    uint32_t n_by_pointer, uint32_t n, uint32_t *share,
		    struct share_functions_cost *cost);

/* in[f]: whether share @which traces function f: all that are its own, and callers of these that
 * are so seldom called that tracing them as well costs less than it spares. A function with a
 * caller that is not traced has a witness for each of its calls, whoever makes them. 0 or -ENOMEM.
 */
int share_functions_along(const struct program *prog, const uint32_t *share, uint32_t which,
			  bool *in);

#endif
