/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regions.h: the mappings of an evaluated task, by address. Snapshots share a list; a change makes
 * a new one. */
#ifndef OFFLINE_EVAL_REGIONS_H
#define OFFLINE_EVAL_REGIONS_H

#include "offline/eval/memory/memory.h"

struct value_regions {
	uint32_t refs;
	size_t n;
	struct value_region list[]; /* by address */
};

/* Gives up one reference; NULL is no list. */
void value_regions_put(struct value_regions *regions);
/* The mapping that @addr lies in or that grows down to it, or NULL. */
const struct value_region *value_regions_find(const struct value_regions *regions, uint64_t addr);
/* The first mapping that ends behind @addr, or NULL. */
const struct value_region *value_regions_next(const struct value_regions *regions, uint64_t addr);
/* Replaces the list at @regions, whose reference is given up, by one without [@start, @end), where
 * @put goes (NULL: nothing); mappings on the edge are cut. Returns 0 or -ENOMEM. */
int value_regions_replace(struct value_regions **regions, uint64_t start, uint64_t end,
			  const struct value_region *put);

#endif
