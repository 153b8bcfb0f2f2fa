// SPDX-License-Identifier: LGPL-2.1-or-later
/* watched.c: which pages code was translated from that may change. The first change of one of them
 * ends the watch over all: they are few, and what was translated is looked at again when it is
 * executed next (made_code.c). */
#include "offline/eval/memory/pages.h"
#include "offline/eval/memory/watched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const uint64_t *watched, size_t room, uint64_t page)
{
	size_t i = page * 0x9e3779b97f4a7c15 >> 20 & (room - 1);
	while (watched[i] && watched[i] != page)
		i = (i + 1) & (room - 1);
	return i;
}

bool value_watched_page(const struct value_memory *mem, uint64_t addr)
{
	const uint64_t page = value_page_addr(addr);
	return mem->watched[slot_of(mem->watched, mem->room_watched, page)] == page;
}

static bool make_room(struct value_memory *mem)
{
	if (2 * (mem->n_watched + 1) <= mem->room_watched)
		return true;
	size_t room = mem->room_watched ? 2 * mem->room_watched : 64;
	uint64_t *watched = calloc(room, sizeof(*watched));
	if (!watched)
		return false;
	for (size_t i = 0; i < mem->room_watched; i++)
		if (mem->watched[i])
			watched[slot_of(watched, room, mem->watched[i])] = mem->watched[i];
	free(mem->watched);
	mem->watched = watched;
	mem->room_watched = room;
	return true;
}

int value_memory_watch(struct value_memory *mem, uint64_t addr)
{
	const uint64_t page = value_page_addr(addr);
	struct value_tlb *entry = &mem->write[addr / VALUE_PAGE % VALUE_TLB];
	if (!page || value_watched(mem, addr))
		return 0;
	if (!make_room(mem))
		return -ENOMEM;
	mem->watched[slot_of(mem->watched, mem->room_watched, page)] = page;
	mem->n_watched++;
	if (entry->tag == page)
		entry->tag = 1;
	return 0;
}

void value_memory_unwatch(struct value_memory *mem)
{
	mem->stored_to_watched = false;
	if (!mem->n_watched)
		return;
	memset(mem->watched, 0, mem->room_watched * sizeof(*mem->watched));
	mem->n_watched = 0;
	mem->changes++;
}

void value_watched_leave(struct value_memory *mem, uint64_t addr, size_t len)
{
	const uint64_t end = addr + len;
	for (uint64_t page = value_page_addr(addr); mem->n_watched && page < end;
	     page += VALUE_PAGE)
		if (value_watched_page(mem, page))
			value_memory_unwatch(mem);
}
