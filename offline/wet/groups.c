// SPDX-License-Identifier: LGPL-2.1-or-later
/* groups.c: see groups.h. */
#include "offline/wet/groups.h"

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
	free(g->pattern);
	free(g->slots);
}

static uint32_t *find(const struct wet_group *g, uint32_t *slots, size_t n_slots,
		      const uint64_t *values)
{
	uint64_t h = 0;
	for (uint32_t i = 0; i < g->width; i++) {
		h = (h ^ values[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	for (size_t i = h >> 32 & (n_slots - 1);; i = (i + 1) & (n_slots - 1))
		if (!slots[i] || !memcmp(g->uvals + (slots[i] - 1) * (size_t)g->width, values,
					 8 * (size_t)g->width))
			return &slots[i];
}

static bool make_room(struct wet_group *g)
{
	if (2 * (g->n_uvals + 1) > g->n_slots) {
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
		size_t room = 2 * g->room_uvals + 1;
		uint64_t *uvals = realloc(g->uvals, room * 8 * (g->width ? g->width : 1));
		if (!uvals)
			return false;
		g->uvals = uvals;
		g->room_uvals = room;
	}
	if (g->n == g->room) {
		size_t room = 2 * g->room + 1;
		uint32_t *pattern = realloc(g->pattern, room * sizeof(*pattern));
		if (!pattern)
			return false;
		g->pattern = pattern;
		g->room = room;
	}
	return true;
}

bool wet_group_add(struct wet_group *g, const uint64_t *values)
{
	if (!make_room(g))
		return false;
	uint32_t *slot = find(g, g->slots, g->n_slots, values);
	if (!*slot) {
		memcpy(g->uvals + g->n_uvals * g->width, values, 8 * (size_t)g->width);
		*slot = ++g->n_uvals;
	}
	g->pattern[g->n++] = *slot - 1;
	return true;
}
