// SPDX-License-Identifier: LGPL-2.1-or-later
/* come_back.c: see come_back.h. */
#include "offline/code/come_back.h"

#include "offline/base/search.h"
#include "offline/base/sort.h"
#include "offline/code/builder.h"

#include <errno.h>

int come_back_find(const struct builder *b, struct come_back *c)
{
	for (uint32_t i = 0; i < b->crossings.n; i++) {
		const struct cross_jump *jump = &b->crossings.at[i];
		if (b->parts.at[jump->from].fde == PUGMARK_NONE &&
		    jump->target != b->parts.at[jump->to].addr && !VEC_PUSH(&c->at, jump->target))
			return -ENOMEM;
	}
	c->at.n = sort_unique(c->at.at, c->at.n);
	return 0;
}

void come_back_deinit(struct come_back *c)
{
	VEC_FREE(&c->at);
}

bool come_back_is_within(const struct come_back *c, uint64_t addr, uint64_t end)
{
	uint32_t first = SEARCH_FIRST_NOT(0, c->at.n, i, c->at.at[i] < addr);
	return first < c->at.n && c->at.at[first] < end;
}
