// SPDX-License-Identifier: LGPL-2.1-or-later
/* same_pages.c: see same_pages.h. */
#include "offline/wet/again/same_pages.h"

#include <stdlib.h>

enum { SLOTS = 1 << 12 };

bool same_pages_init(struct same_pages *p)
{
	*p = (struct same_pages){.n_slots = SLOTS};
	p->slots = calloc(SLOTS, sizeof(*p->slots));
	return p->slots;
}

void same_pages_clear(struct same_pages *p)
{
	for (uint32_t i = 0; p->slots && i < p->n_slots; i++) {
		free(p->slots[i]);
		p->slots[i] = NULL;
	}
	memset(p->near, 0, sizeof(p->near));
	p->n = 0;
}

void same_pages_deinit(struct same_pages *p)
{
	same_pages_clear(p);
	free(p->slots);
	p->slots = NULL;
}

static struct same_page **slot_of(const struct same_pages *p, uint64_t number)
{
	uint32_t i = (uint32_t)(number * 0x9e3779b97f4a7c15 >> 32) & (p->n_slots - 1);
	while (p->slots[i] && p->slots[i]->number != number + 1)
		i = (i + 1) & (p->n_slots - 1);
	return &p->slots[i];
}

static bool grow(struct same_pages *p)
{
	struct same_page **old = p->slots;
	uint32_t n_old = p->n_slots;
	struct same_page **slots = calloc(2 * (size_t)n_old, sizeof(*slots));
	if (!slots)
		return false;
	p->slots = slots;
	p->n_slots = 2 * n_old;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i])
			*slot_of(p, old[i]->number - 1) = old[i];
	free(old);
	return true;
}

struct same_page *same_pages_known(const struct same_pages *p, uint64_t number)
{
	return *slot_of(p, number);
}

struct same_page *same_pages_make(struct same_pages *p, uint64_t number)
{
	struct same_page **slot = slot_of(p, number);
	if (!*slot) {
		struct same_page *page =
			2 * p->n < p->n_slots || grow(p) ? calloc(1, sizeof(*page)) : NULL;
		if (!page)
			return NULL;
		page->number = number + 1;
		p->n++;
		slot = slot_of(p, number);
		*slot = page;
	}
	return p->near[number % SAME_NEAR] = *slot;
}
