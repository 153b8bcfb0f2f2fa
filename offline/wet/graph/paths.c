// SPDX-License-Identifier: LGPL-2.1-or-later
/* paths.c: see paths.h. */
#include "offline/wet/graph/paths.h"

#include <stdlib.h>
#include <string.h>

void wet_paths_deinit(struct wet_paths *p)
{
	free(p->blocks);
	free(p->first);
	free(p->length);
	free(p->slots);
}

static bool is_node(const struct wet_paths *p, uint32_t node, const uint32_t *blocks, uint32_t n)
{
	const uint32_t *of = p->blocks + p->first[node];
	uint32_t i = 0;
	if (p->length[node] != n)
		return false;
	while (i < n && of[i] == blocks[i])
		i++;
	return i == n;
}

static uint32_t *find(const struct wet_paths *p, uint32_t *slots, uint32_t n_slots,
		      const uint32_t *blocks, uint32_t n)
{
	uint64_t h = n;
	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ blocks[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	for (uint32_t i = h >> 32 & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
		if (!slots[i] || is_node(p, slots[i] - 1, blocks, n))
			return &slots[i];
	}
}

static bool make_room(struct wet_paths *p)
{
	if (2 * (p->n + 1) > p->n_slots) {
		uint32_t n = p->n_slots ? 2 * p->n_slots : 1024;
		uint32_t *slots = calloc(n, sizeof(*slots));
		if (!slots)
			return false;
		for (uint32_t i = 0; i < p->n; i++)
			*find(p, slots, n, p->blocks + p->first[i], p->length[i]) = i + 1;
		free(p->slots);
		p->slots = slots;
		p->n_slots = n;
	}
	if (p->n == p->room) {
		uint32_t room = p->room ? 2 * p->room : 256;
		uint32_t *first = realloc(p->first, room * sizeof(*first));
		p->first = first ? first : p->first;
		uint32_t *length = realloc(p->length, room * sizeof(*length));
		p->length = length ? length : p->length;
		if (!first || !length)
			return false;
		p->room = room;
	}
	if (p->n_blocks + WET_PATH_BLOCKS > p->room_blocks) {
		size_t room = 2 * p->room_blocks + 1024;
		uint32_t *blocks = realloc(p->blocks, room * sizeof(*blocks));
		if (!blocks)
			return false;
		p->blocks = blocks;
		p->room_blocks = room;
	}
	return true;
}

uint32_t wet_paths_end(struct wet_paths *p, uint32_t likely, bool *fresh)
{
	*fresh = false;
	if (likely < p->n && is_node(p, likely, p->now, p->n_now)) {
		p->n_now = 0;
		return likely;
	}
	if (!make_room(p))
		return UINT32_MAX;
	uint32_t *slot = find(p, p->slots, p->n_slots, p->now, p->n_now);
	*fresh = !*slot;
	if (*fresh) {
		p->first[p->n] = p->n_blocks;
		p->length[p->n] = p->n_now;
		memcpy(p->blocks + p->n_blocks, p->now, 4 * p->n_now);
		p->n_blocks += p->n_now;
		*slot = ++p->n;
	}
	p->n_now = 0;
	return *slot - 1;
}
