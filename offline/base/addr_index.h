/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* addr_index.h: a first guess for searches by address in an array that is in order: where the items
 * of each stretch of addresses begin. A stretch has a few items, which mostly lie in one place of
 * memory, where halving a large array reads it all over. Made anew whenever the array changes.
 * Without memory it says nothing, and the whole array is searched. */
#ifndef OFFLINE_ADDR_INDEX_H
#define OFFLINE_ADDR_INDEX_H

#include "offline/base/search.h"

#include <stdint.h>
#include <stdlib.h>

enum { ITEMS_PER_STRETCH = 4 }; /* on average */

struct addr_index {
	uint64_t from, last; /* the first item's address, the last one's */
	uint64_t before;     /* while it is made: that of the item added before */
	uint32_t *first;     /* per stretch, and one more: how many lie before; NULL: unknown */
	uint32_t n, n_stretches;
	uint8_t shift; /* a stretch has 1 << shift bytes */
};

static inline void addr_index_deinit(struct addr_index *x)
{
	free(x->first);
	*x = (struct addr_index){0};
}

/* Begins an index of @n items, of which the first is at @from and the last at @last. Every item is
 * then given to addr_index_add(). */
static inline void addr_index_begin(struct addr_index *x, uint32_t n, uint64_t from, uint64_t last)
{
	addr_index_deinit(x);
	*x = (struct addr_index){.from = from, .last = last, .before = from, .n = n};
	if (last < from)
		return;
	while ((last - from) >> x->shift > n / ITEMS_PER_STRETCH + 1)
		x->shift++;
	x->n_stretches = (uint32_t)((last - from) >> x->shift) + 1;
	x->first = calloc((size_t)x->n_stretches + 1, sizeof(*x->first));
}

/* The next item. Items that are not in order, as overlapping ones of a damaged file, have no index.
 */
static inline void addr_index_add(struct addr_index *x, uint64_t addr)
{
	if (addr < x->before || addr > x->last) {
		free(x->first);
		x->first = NULL;
	}
	x->before = addr;
	if (x->first)
		x->first[((addr - x->from) >> x->shift) + 1]++;
}

static inline void addr_index_end(struct addr_index *x)
{
	for (uint32_t i = 1; x->first && i <= x->n_stretches; i++)
		x->first[i] += x->first[i - 1];
}

/* Between which items the first lies that is above @addr: [*low, *high], of @n in all. */
static inline void addr_index_narrow(const struct addr_index *x, uint64_t addr, uint32_t *low,
				     uint32_t *high)
{
	if (!x->first)
		return;
	uint64_t stretch = (addr - x->from) >> x->shift;
	if (addr < x->from)
		*high = 0;
	else if (stretch >= x->n_stretches)
		*low = x->n;
	else {
		*low = x->first[stretch];
		*high = x->first[stretch + 1];
	}
}

/* The first of the @n items that is above @addr; @at: the address of item @i, in order. */
#define ADDR_INDEX_ABOVE(x, n, addr, i, at)                                                        \
	({                                                                                         \
		uint32_t from_ = 0, to_ = (n);                                                     \
		addr_index_narrow((x), (addr), &from_, &to_);                                      \
		SEARCH_FIRST_NOT(from_, to_, i, (at) <= (addr));                                   \
	})

/* Makes the index of the @n items, whose addresses, @at of item @i, are in order. */
#define ADDR_INDEX_MAKE(x, n, i, at)                                                               \
	do {                                                                                       \
		uint32_t n_ = (n), i = 0;                                                          \
		addr_index_deinit(x);                                                              \
		if (!n_)                                                                           \
			break;                                                                     \
		uint64_t from_ = (at);                                                             \
		i = n_ - 1;                                                                        \
		addr_index_begin((x), n_, from_, (at));                                            \
		for (i = 0; i < n_; i++)                                                           \
			addr_index_add((x), (at));                                                 \
		addr_index_end(x);                                                                 \
	} while (0)

#endif
