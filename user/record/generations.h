/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* generations.h: what was probed at which time of a recording. What is probed changes, and batches
 * of what was probed before are still on their way: each says of which generation it is. Of one
 * that is there nothing changes but when it was in use, so that one thread may add while another
 * reads. */
#ifndef USER_GENERATIONS_H
#define USER_GENERATIONS_H

#include "user/record/recorder.h"

#include <linux/types.h>
#include "bpf/protocol.h"
#include <stdint.h>

struct text_span;

enum { GENERATIONS_MAX = 64 };

/* Modules in a row, and the numbers of their first sites. */
struct generation {
	const struct recorder_module *modules; /* borrowed */
	uint32_t first, n;		       /* of the recording's modules */
	uint64_t text_addr[BATCH_MODULES], text_end[BATCH_MODULES];
	uint32_t first_site[BATCH_MODULES + 1];
	/* From when to when its probes were those in use; 0: not known, or not yet. */
	_Atomic uint64_t began_ns, ended_ns;
};

/* Zeroed to begin with. */
struct generations {
	struct generation at[GENERATIONS_MAX];
	_Atomic uint32_t n;
	uint32_t n_modules; /* of all of them */
};

/* From now on the modules of @options are probed; *@first: the number of the first of them in the
 * recording. Returns 0, or -E2BIG: it was changed too often. */
int generations_add(struct generations *generations, const struct recorder_options *options,
		    const struct text_span *spans, uint32_t *first);
/* The last one is in use from then on, and the one before, if it was until then, no more; or
 * nothing is from then on. */
void generations_began(struct generations *generations, uint64_t time_ns);
void generations_ended(struct generations *generations, uint64_t time_ns);
/* NULL: there is none of that number; none at all. */
const struct generation *generations_at(const struct generations *generations, uint32_t number);
const struct generation *generations_last(const struct generations *generations);
/* Which module of @generation has @site. */
uint32_t generation_slot(const struct generation *generation, uint32_t site);

#endif
