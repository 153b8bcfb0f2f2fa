/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pairs.h: counts by a pair of addresses; a hash table with open addressing. */
#ifndef ORACLE_PAIRS_H
#define ORACLE_PAIRS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
	uint64_t from, to, count; /* count 0: an empty slot */
	const char *what;
};

struct pairs {
	struct pair *slots;
	size_t n, room;
};

static inline struct pair *pairs_slot(const struct pairs *p, uint64_t from, uint64_t to)
{
	uint64_t h = (from * 0x9e3779b97f4a7c15ull) ^ (to * 0xc2b2ae3d27d4eb4full);

	for (h ^= h >> 29;; h++) {
		struct pair *slot = &p->slots[h & (p->room - 1)];

		if (!slot->count || (slot->from == from && slot->to == to))
			return slot;
	}
}

/* Counts (@from, @to) once more and returns its slot, valid until the next call. */
static inline struct pair *pairs_add(struct pairs *p, uint64_t from, uint64_t to)
{
	struct pair *slot;

	if (p->n * 2 >= p->room) {
		struct pairs bigger = {.room = p->room ? p->room * 2 : 1024, .n = p->n};

		bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
		if (!bigger.slots)
			abort();
		for (size_t i = 0; i < p->room; i++)
			if (p->slots[i].count)
				*pairs_slot(&bigger, p->slots[i].from, p->slots[i].to) =
					p->slots[i];
		free(p->slots);
		*p = bigger;
	}
	slot = pairs_slot(p, from, to);
	p->n += !slot->count;
	slot->from = from;
	slot->to = to;
	slot->count++;
	return slot;
}

static inline int pairs_by_from(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (!x->count || !y->count)
		return !x->count - !y->count;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Sorts them, after which none can be added, and prints each behind @title. */
static inline void pairs_list(struct pairs *p, const char *title)
{
	if (p->n)
		qsort(p->slots, p->room, sizeof(*p->slots), pairs_by_from);
	for (size_t i = 0; i < p->n; i++)
		printf("%s %lx %lx %s\n", title, p->slots[i].from, p->slots[i].to,
		       p->slots[i].what ? p->slots[i].what : "");
}

#endif
