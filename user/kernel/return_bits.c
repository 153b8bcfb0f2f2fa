// SPDX-License-Identifier: LGPL-2.1-or-later
/* return_bits.c: see return_bits.h. */
#include "user/kernel/return_bits.h"

#include <string.h>

uint32_t return_bits_words(const struct text_span *span)
{
	return (span->end - span->addr) / 64 + 1;
}

static bool is_call(const struct pugmark_plan_node *n)
{
	return (n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
		n->kind == PUGMARK_NODE_KIND_LEAF) &&
	       !(n->flags & PUGMARK_NODE_TAIL);
}

void return_bits_fill(uint64_t *words, const struct recorder_options *options,
		      const struct text_span *spans)
{
	uint64_t *at = words;

	for (uint32_t m = 0; m < options->n_modules; m++) {
		const struct pugmark_plan *plan = options->modules[m].plan;
		const struct text_span *span = &spans[m];
		uint32_t n_words = return_bits_words(span);

		memset(at, 0, n_words * sizeof(*at));
		if (!options->modules[m].n_sites)
			plan = NULL; /* none of its functions is traced */
		else if (!plan)
			memset(at, 0xff, n_words * sizeof(*at));
		for (uint32_t i = 1; plan && i < plan->n_nodes; i++) {
			const struct pugmark_plan_node *n = &plan->nodes[i];
			uint64_t off = n->addr + n->call_len - span->addr;

			if (is_call(n) && off <= span->end - span->addr)
				at[off / 64] |= 1ull << off % 64;
		}
		at += n_words;
	}
}
