// SPDX-License-Identifier: LGPL-2.1-or-later
/* groups.c: see groups.h. */
#include "offline/wet/graph/groups.h"

#include <stdlib.h>
#include <string.h>

uint32_t wet_groups_form(const uint64_t *inputs, uint32_t n, uint32_t *group)
{
	uint32_t n_groups = 0;
	/* A statement's group is named by the first statement with the smallest set that holds its
	 * own; a set that none holds is its own. Sets grow at each step, so this ends. */
	for (uint32_t i = 0; i < n; i++) {
		uint64_t set = inputs[i];
		uint32_t name = i;
		for (bool grows = true; grows;) {
			int best = 65;
			uint64_t to = set;
			grows = false;
			for (uint32_t k = 0; k < n; k++) {
				int size = __builtin_popcountll(inputs[k]);
				if ((set & ~inputs[k]) || inputs[k] == set || size >= best)
					continue;
				best = size;
				to = inputs[k];
				grows = true;
			}
			set = to;
		}
		for (name = 0; inputs[name] != set;)
			name++;
		group[i] = name;
	}
	for (uint32_t i = 0; i < n; i++)
		if (group[i] == i)
			n_groups++;
	/* Names become numbers in their order. */
	uint32_t next = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (group[i] != i)
			continue;
		for (uint32_t k = 0; k < n; k++)
			if (group[k] == i && (k != i))
				group[k] = UINT32_MAX - next;
		group[i] = UINT32_MAX - next++;
	}
	for (uint32_t i = 0; i < n; i++)
		group[i] = UINT32_MAX - group[i];
	return n_groups;
}

void wet_group_deinit(struct wet_group *g)
{
	free(g->uvals);
	free(g->slots);
	wet_growing_deinit(&g->pattern);
}

static inline bool same(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	uint64_t differs = 0;
	for (uint32_t i = 0; i < n && !differs; i++)
		differs = a[i] ^ b[i];
	return !differs;
}

static uint32_t *find(const struct wet_group *g, uint32_t *slots, size_t n_slots,
		      const uint64_t *values)
{
	for (size_t i = wet_group_hash(g, values) & (n_slots - 1);; i = (i + 1) & (n_slots - 1))
		if (!slots[i] ||
		    same(g->uvals + (slots[i] - 1) * (size_t)g->width, values, g->width))
			return &slots[i];
}

/* Room for another tuple. */
static bool make_room(struct wet_group *g)
{
	if (4 * (g->n_uvals + 1) > 3 * g->n_slots) {
		size_t n = g->n_slots ? 2 * g->n_slots : 4;
		uint32_t *slots = calloc(n, sizeof(*slots));
		if (!slots)
			return false;
		for (size_t i = 0; i < g->n_uvals; i++)
			*find(g, slots, n, g->uvals + i * g->width) = i + 1;
		free(g->slots);
		g->slots = slots;
		g->n_slots = n;
	}
	if (g->n_uvals == g->room_uvals) {
		size_t room = g->room_uvals + g->room_uvals / 2 + 2;
		uint64_t *uvals = realloc(g->uvals, room * 8 * (g->width ? g->width : 1));
		if (!uvals)
			return false;
		g->uvals = uvals;
		g->room_uvals = room;
	}
	return true;
}

/* The number of a new tuple; those before the second one are all the first. */
static bool add_tuple(struct wet_press *press, struct wet_group *g, const uint64_t *values)
{
	for (uint64_t i = 0; g->n_uvals == 1 && i < g->n; i++)
		if (!wet_growing_add(press, &g->pattern, 0))
			return false;
	memcpy(g->uvals + g->n_uvals * g->width, values, 8 * (size_t)g->width);
	g->n_uvals++;
	return true;
}

bool wet_group_add(struct wet_press *press, struct wet_group *g, const uint64_t *values)
{
	if (!g->n || !same(g->uvals + g->last * (size_t)g->width, values, g->width)) {
		if (!make_room(g))
			return false;
		uint32_t *slot = find(g, g->slots, g->n_slots, values);
		if (!*slot) {
			if (!add_tuple(press, g, values))
				return false;
			*slot = (uint32_t)g->n_uvals;
		}
		g->last = *slot - 1;
	}
	g->n++;
	return g->n_uvals == 1 || wet_growing_add(press, &g->pattern, g->last);
}
