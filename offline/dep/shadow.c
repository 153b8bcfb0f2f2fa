// SPDX-License-Identifier: LGPL-2.1-or-later
/* shadow.c: see shadow.h. */
#include "offline/dep/shadow.h"

#include "offline/base/large.h"

#include <stdlib.h>

bool shadow_init(struct shadow *s)
{
	*s = (struct shadow){.room = 1024};
	s->pages = calloc(s->room, sizeof(*s->pages));
	s->defs = calloc(s->room, sizeof(*s->defs));
	s->nobody = calloc(SHADOW_PAGE, sizeof(*s->nobody));
	return s->pages && s->defs && s->nobody;
}

void shadow_deinit(struct shadow *s)
{
	for (size_t i = 0; i < s->n_slabs; i++)
		munmap(s->slabs[i], LARGE_PAGE_BYTES);
	free(s->slabs);
	free(s->pages);
	free(s->defs);
	free(s->nobody);
}

static size_t slot_of(const uint64_t *pages, size_t room, uint64_t number)
{
	size_t i = number * 0x9e3779b97f4a7c15 >> 32 & (room - 1);
	while (pages[i] && pages[i] != number + 1)
		i = (i + 1) & (room - 1);
	return i;
}

static bool grow(struct shadow *s)
{
	size_t room = 2 * s->room;
	uint64_t *pages = calloc(room, sizeof(*pages));
	uint32_t **defs = calloc(room, sizeof(*defs));
	if (!pages || !defs) {
		free(pages);
		free(defs);
		return false;
	}
	for (size_t i = 0; i < s->room; i++)
		if (s->pages[i]) {
			size_t to = slot_of(pages, room, s->pages[i] - 1);
			pages[to] = s->pages[i];
			defs[to] = s->defs[i];
		}
	free(s->pages);
	free(s->defs);
	s->pages = pages;
	s->defs = defs;
	s->room = room;
	return true;
}

/* A page of zeros, by large pages of the system where it has any; NULL: no memory. */
static uint32_t *fresh_page(struct shadow *s)
{
	enum { EACH = LARGE_PAGE_BYTES / sizeof(uint32_t) / SHADOW_PAGE };
	if (!s->n_slabs || s->n_taken == EACH) {
		uint32_t **slabs = realloc(s->slabs, (s->n_slabs + 1) * sizeof(*slabs));
		if (!slabs)
			return NULL;
		s->slabs = slabs;
		void *slab = large_zeros();
		if (!slab)
			return NULL;
		slabs[s->n_slabs++] = slab;
		s->n_taken = 0;
	}
	return s->slabs[s->n_slabs - 1] + s->n_taken++ * (size_t)SHADOW_PAGE;
}

/* The page of zeros is handed out for reading alone: it is never in the cache. Where memory is out
 * it is for writing as well, and nothing that is said then is used. */
uint32_t *shadow_page(struct shadow *s, uint64_t number, bool write)
{
	size_t i = slot_of(s->pages, s->room, number);
	if (!s->pages[i]) {
		if (!write)
			return s->nobody;
		uint32_t *page = 2 * (s->n + 1) > s->room && !grow(s) ? NULL : fresh_page(s);
		if (!page) {
			s->no_memory = true;
			return s->nobody;
		}
		i = slot_of(s->pages, s->room, number);
		s->pages[i] = number + 1;
		s->defs[i] = page;
		s->n++;
	}
	s->near[number % SHADOW_NEAR] = (struct shadow_near){number + 1, s->defs[i]};
	return s->defs[i];
}

void shadow_each(const struct shadow *s,
		 void (*fn)(void *ctx, uint64_t number, const uint32_t *defs), void *ctx)
{
	for (size_t i = 0; i < s->room; i++)
		if (s->pages[i] && s->defs[i])
			fn(ctx, s->pages[i] - 1, s->defs[i]);
}
