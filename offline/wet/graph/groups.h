/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* groups.h: values of the statements of a node, by groups that depend on the same inputs: each
 * different tuple of values is kept once, and a pattern says which one each execution had (section
 * 3.2 of the WET paper):  Values[i] = UVals[Pattern[i]]. */
#ifndef OFFLINE_WET_GROUPS_H
#define OFFLINE_WET_GROUPS_H

#include "offline/wet/streams/growing.h"

/* Puts @n statements into groups by @inputs, a bit for each input of the node that a statement
 * depends on, directly or not: those with the same inputs are a group; a group whose inputs are
 * part of another's joins it (the smallest such). @group[i] becomes the group of statement i, from
 * 0. Returns how many groups there are. */
uint32_t wet_groups_form(const uint64_t *inputs, uint32_t n, uint32_t *group);

struct wet_group {
	uint32_t width;		    /* statements */
	bool executed;		    /* none of its values is stored (again.h) */
	uint32_t last;		    /* tuple of the last execution */
	uint64_t *uvals;	    /* tuple k is uvals[k * width] on */
	size_t n_uvals, room_uvals; /* tuples */
	uint32_t *slots;	    /* a hash table of tuples + 1 */
	size_t n_slots;
	uint64_t n;		    /* executions */
	struct wet_growing pattern; /* empty while there is one tuple */
};

void wet_group_deinit(struct wet_group *g);
/* One more execution; @values has the group's width. False: out of memory. */
bool wet_group_add(struct wet_press *press, struct wet_group *g, const uint64_t *values);

/* Of a group whose table does not stay in the cache, as it is looked up in: two steps before
 * wet_group_add(), with others in between, so that memory is not waited for each time. */
enum { WET_GROUP_FAR = 1 << 12 }; /* slots */
static inline uint64_t wet_group_hash(const struct wet_group *g, const uint64_t *values)
{
	uint64_t h = 0;
	for (uint32_t i = 0; i < g->width; i++) {
		h = (h ^ values[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	return h >> 32;
}
static inline void wet_group_near_slot(const struct wet_group *g, uint64_t hash)
{
	__builtin_prefetch(&g->slots[hash & (g->n_slots - 1)]);
}
static inline void wet_group_near_tuple(const struct wet_group *g, uint64_t hash)
{
	uint32_t slot = g->slots[hash & (g->n_slots - 1)];
	if (slot)
		__builtin_prefetch(&g->uvals[(slot - 1) * (size_t)g->width]);
}

#endif
