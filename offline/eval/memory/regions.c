// SPDX-License-Identifier: LGPL-2.1-or-later
/* regions.c: lists of mappings that nobody changes once they are made. */
#include "offline/eval/memory/regions.h"

#include <errno.h>
#include <stdlib.h>

void value_regions_put(struct value_regions *regions)
{
	if (regions && !--regions->refs)
		free(regions);
}

const struct value_region *value_regions_next(const struct value_regions *regions, uint64_t addr)
{
	size_t low = 0, high = regions ? regions->n : 0;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (regions->list[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return regions && low < regions->n ? &regions->list[low] : NULL;
}

const struct value_region *value_regions_find(const struct value_regions *regions, uint64_t addr)
{
	const struct value_region *next = value_regions_next(regions, addr);
	if (!next)
		return NULL;
	bool grows = next->grows_to && next->grows_to <= addr;
	return next->start <= addr || grows ? next : NULL;
}

int value_regions_replace(struct value_regions **regions, uint64_t start, uint64_t end,
			  const struct value_region *put)
{
	const struct value_regions *old = *regions;
	size_t n = old ? old->n : 0, m = 0;
	struct value_regions *new = malloc(sizeof(*new) + (n + 2) * sizeof(new->list[0]));
	if (!new)
		return -ENOMEM;
	size_t i = 0;
	for (; i < n && old->list[i].start < end; i++) {
		struct value_region r = old->list[i];
		if (r.end <= start) {
			new->list[m++] = r;
			continue;
		}
		if (r.start < start) {
			new->list[m] = r;
			new->list[m++].end = start;
		}
		if (put && put->start == start) {
			new->list[m++] = *put;
			put = NULL;
		}
		if (r.end > end) {
			r.off += end - r.start;
			r.start = end;
			new->list[m++] = r;
		}
	}
	if (put)
		new->list[m++] = *put;
	for (; i < n; i++)
		new->list[m++] = old->list[i];
	new->refs = 1;
	new->n = m;
	value_regions_put(*regions);
	*regions = new;
	return 0;
}
