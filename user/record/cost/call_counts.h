/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_counts.h: which functions called which how often, by a recording that is still being made.
 */
#ifndef USER_CALL_COUNTS_H
#define USER_CALL_COUNTS_H

#include "user/kernel/record_options.h"

/* Functions by their place in a list of all, module by module. */
struct call_count {
	uint32_t caller; /* PUGMARK_NONE: it was entered from what is not traced */
	uint32_t callee;
	uint64_t n;
};

/* Zeroed to begin with. */
struct call_counts {
	struct call_count *at; /* a hash table; where n is 0 there is nothing; heap */
	uint32_t cap, n;
};

/* Recovers what is written so far of the recording @now->output, and counts calls between functions
 * of the modules that are probed now. The functions of module m begin at first[m] in the list.
 * Returns 0, or -errno: -EFBIG where there is so much that it would take long. The caller releases
 * @out in any case. */
int call_counts_read(const struct recorder_options *now, const uint32_t *first,
		     struct call_counts *out);
void call_counts_deinit(struct call_counts *counts);

#endif
