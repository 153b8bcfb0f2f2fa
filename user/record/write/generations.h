/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* generations.h: what was probed at which time of a recording. What is probed changes while batches
 * of the probes before are still on their way: each batch says of which generation it is. Once a
 * generation is added only the times of its use change, so that one thread may add while another
 * reads. */
#ifndef USER_GENERATIONS_H
#define USER_GENERATIONS_H

#include "user/kernel/record_options.h"

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
	/* When its probes came into use and went out of it; 0: not known, or not yet. */
	_Atomic uint64_t began_ns, ended_ns;
};

/* Zeroed to begin with. */
struct generations {
	struct generation at[GENERATIONS_MAX];
	_Atomic uint32_t n;
	uint32_t n_modules; /* of all of them */
};

/* Adds a generation: the modules of @options; *@first: the number of the first of them in the
 * recording. Returns 0, or -E2BIG: there were too many changes. */
int generations_add(struct generations *generations, const struct recorder_options *options,
		    const struct text_span *spans, uint32_t *first);
/* `began`: the newest generation becomes active, and the one before, if it is active, ends.
 * `ended`: none is active. */
void generations_began(struct generations *generations, uint64_t time_ns);
void generations_ended(struct generations *generations, uint64_t time_ns);
/* NULL: there is none of that number; none at all. */
const struct generation *generations_at(const struct generations *generations, uint32_t number);
const struct generation *generations_last(const struct generations *generations);
/* The generation with module @module of the recording, as its *@slot; NULL: there is none. */
const struct generation *generations_of_module(const struct generations *generations,
					       uint32_t module, uint32_t *slot);
/* Which module of @generation has @site. */
uint32_t generation_slot(const struct generation *generation, uint32_t site);

#endif
