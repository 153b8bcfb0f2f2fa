// SPDX-License-Identifier: LGPL-2.1-or-later
/* generations.c: see generations.h. */
#include "user/record/write/generations.h"

#include "user/file/text_span.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

int generations_add(struct generations *all, const struct recorder_options *options,
		    const struct text_span *spans, uint32_t *first)
{
	if (all->n == GENERATIONS_MAX || all->n_modules + options->n_modules > BATCH_MODULES)
		return -E2BIG;
	struct generation *g = &all->at[all->n];
	*g = (struct generation){.modules = options->modules, .first = all->n_modules};
	for (; g->n < options->n_modules; g->n++) {
		g->text_addr[g->n] = spans[g->n].addr;
		g->text_end[g->n] = spans[g->n].end;
		g->first_site[g->n + 1] = g->first_site[g->n] + options->modules[g->n].n_sites;
	}
	*first = all->n_modules;
	all->n_modules += g->n;
	atomic_fetch_add(&all->n, 1);
	return 0;
}

void generations_began(struct generations *all, uint64_t time_ns)
{
	uint32_t n = all->n;

	if (n > 1 && !all->at[n - 2].ended_ns)
		all->at[n - 2].ended_ns = time_ns;
	if (n)
		all->at[n - 1].began_ns = time_ns;
}

void generations_ended(struct generations *all, uint64_t time_ns)
{
	uint32_t n = all->n;

	if (n)
		all->at[n - 1].ended_ns = time_ns;
}

const struct generation *generations_at(const struct generations *all, uint32_t number)
{
	return number < all->n ? &all->at[number] : NULL;
}

const struct generation *generations_last(const struct generations *all)
{
	uint32_t n = all->n;

	return n ? &all->at[n - 1] : NULL;
}

const struct generation *generations_of_module(const struct generations *all, uint32_t module,
					       uint32_t *slot)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (module - all->at[i].first < all->at[i].n) {
			*slot = module - all->at[i].first;
			return &all->at[i];
		}
	return NULL;
}

uint32_t generation_slot(const struct generation *g, uint32_t site)
{
	uint32_t m = 0;

	while (m + 1 < g->n && site >= g->first_site[m + 1])
		m++;
	return m;
}
