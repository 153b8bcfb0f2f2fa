/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watched.h: pages of value_memory_watch(), for memory.c alone. */
#ifndef OFFLINE_EVAL_WATCHED_H
#define OFFLINE_EVAL_WATCHED_H

#include "offline/eval/memory/memory.h"

bool value_watched_page(const struct value_memory *mem, uint64_t addr);
static inline bool value_watched(const struct value_memory *mem, uint64_t addr)
{
	return mem->n_watched && value_watched_page(mem, addr);
}

/* Somebody is about to write there, or to say that less is known: if one of the pages is watched,
 * none is any more. */
void value_watched_leave(struct value_memory *mem, uint64_t addr, size_t len);

#endif
