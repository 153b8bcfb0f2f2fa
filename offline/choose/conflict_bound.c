// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_bound.c: how much work one function may cost, so that planning takes time and memory in
 * proportion to a file, whatever its author has thought of. The unit of work is one block, or one
 * terminal, looked at (ch->work). The function of real programs that takes most is one of SQLite,
 * with 1,777 blocks: 317 million of these; the widest, of Node, has 36 alternatives for each of its
 * 1,154 blocks. */
#include "offline/choose/conflict_impl.h"

/* What one look at a function may take: for each of its blocks, and beyond, as far as
 * ch->work_spare has that. */
#define WORK_PER_BLOCK (4ull << 10)
#define WORK_BEYOND (384ull << 20)

void conflict_begin(struct conflicts *ch, uint32_t func)
{
	if (ch->looks++)
		return;
	ch->work_own = ch->work + WORK_PER_BLOCK * ch->prog->funcs[func].n_blocks;
	ch->work_end = ch->work_own;
	ch->work_end += ch->work_spare < WORK_BEYOND ? ch->work_spare : WORK_BEYOND;
}

bool conflict_end(struct conflicts *ch)
{
	bool spent = conflict_spent(ch);
	if (--ch->looks)
		return spent;
	uint64_t more = ch->work > ch->work_own ? ch->work - ch->work_own : 0;
	ch->work_spare -= more < ch->work_spare ? more : ch->work_spare;
	ch->work_end = UINT64_MAX;
	return spent;
}
