// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_whole.c: see choose_whole.h. */
#include "offline/choose/choose_whole.h"

#include "offline/choose/choose_forced.h"
#include "offline/choose/choose_modes.h"
#include "offline/choose/conflict_impl.h"

#include <string.h>

/* Alternatives in the decisions of one function: for each of its blocks, and beyond. */
#define WIDTH_PER_BLOCK 16ull
#define WIDTH_SPARE (256ull << 10)

void mark_all_over(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		bool entry = b == f->block && f->flags & PROG_ENTRY_WITNESS;
		bool forced = entry || block->flags & (PROG_ROOT | PROG_READ | PROG_READ_CALL);
		if (!(block->flags & PROG_REACHED) || (ch->marks[b] && forced))
			continue;
		/* a placement may have marked the block itself, which says less */
		if (block->flags & PROG_BRANCH && !(block->flags & PROG_READ) &&
		    prog_probeable(&block->last))
			ch->marks[b] = MARK_BRANCH;
		else if (!ch->marks[b] && prog_probeable(&block->any))
			ch->marks[b] = MARK_BLOCK;
	}
}

/* Adds up the alternatives behind @block: once for all that go on alike, as a plan keeps them. */
static uint64_t width_after(struct conflicts *ch, uint32_t func, uint32_t block, uint32_t stamp)
{
	uint64_t width = 0;
	for (uint32_t i = 0; i < conflict_ways(ch, block); i++) {
		struct decision d = {func, block, conflict_decision_way(ch, block, i)};
		uint32_t c = conflict_continuation(ch, d);
		uint32_t *seen = c == PUGMARK_NONE ? NULL : &ch->seen_alike[conflict_place(ch, c)];
		if (seen && *seen == stamp)
			continue;
		if (seen)
			*seen = stamp;
		conflict_alternatives(ch, d, &ch->alts);
		width += ch->alts.n;
	}
	return width;
}

/* How many alternatives the decisions of @f have at most: each of them every block. */
static uint64_t width_bound(const struct conflicts *ch, const struct prog_func *f)
{
	uint64_t decisions = f->n_blocks;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		decisions += ch->hops[b].n_succ;
	return decisions * f->n_blocks;
}

/* Whether the decisions of @func have more alternatives than a plan may keep. */
static bool too_wide(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	uint64_t width = 0, most = WIDTH_SPARE + WIDTH_PER_BLOCK * f->n_blocks;
	uint32_t stamp = ++ch->stamp;
	if (width_bound(ch, f) <= most)
		return false;
	for (uint32_t b = f->block; b < f->block + f->n_blocks && width <= most; b++)
		if (ch->prog->blocks[b].flags & PROG_REACHED && conflict_is_node(ch, b))
			width += width_after(ch, func, b, stamp);
	return width > most;
}

/* Whether it was chosen for within bounds. */
static bool choose_within(struct conflicts *ch, uint32_t func, choose_function *choose,
			  const uint8_t *seed)
{
	conflict_begin(ch, func);
	if (seed)
		choose_seeded(ch, func, seed);
	else
		choose(ch, func);
	bool wide = too_wide(ch, func);
	return !conflict_end(ch) && !wide;
}

static void begin_anew(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	memset(ch->marks + f->block, MARK_NONE, f->n_blocks);
	force_function(ch, func);
}

void choose_bounded(struct conflicts *ch, uint32_t func, choose_function *choose,
		    const uint8_t *seed)
{
	if (!ch->whole[func]) {
		bool prevail = !ch->hubs[func] && forced_hubs_prevail(ch, func);
		/* Patches cost alike wherever they stand, so that less can be taken away at once:
		 * it would be too much. */
		if (prevail && ch->prog->patched) {
			ch->hubs[func] = true;
			force_function(ch, func);
		}
		if (choose_within(ch, func, choose, seed))
			return;
		bool again = prevail && !ch->hubs[func];
		ch->hubs[func] = again;
		begin_anew(ch, func);
		if (again && choose_within(ch, func, choose, NULL))
			return;
		ch->hubs[func] = false;
		ch->whole[func] = true;
	}
	begin_anew(ch, func);
	mark_all_over(ch, func);
}
