// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_walk.c: between which nodes a decision is: a walk on from it through blocks that are no
 * nodes. In a large function the same walk is asked for hundreds of times between two changes of a
 * mark, so that what it found is kept for as long as the caller says that marks stay as they are
 * (conflict_keep), but for one at a time (conflict_forget). A walk that is kept costs the steps
 * that it took the first time: the limits of work are met at the same place with and without. */
#include "offline/choose/conflict_impl.h"

#include <string.h>

/* Adds to @out the nodes reached from @start through blocks that are none. The successors of a
 * block are walked next, but for those that have been, or are to be already: behind many copies of
 * one dispatch the same hundreds. What the loop needs is in variables of its own, since most of the
 * choice is spent here. */
static void reach(struct conflicts *ch, uint32_t start, struct vec_u32 *out, bool *exit_seen)
{
	const struct hop *hops = ch->hops;
	uint32_t *seen = ch->seen_walk, *seen_fan = ch->seen_fan;
	const uint32_t *alike = ch->alike, *all_succs = ch->prog->succs;
	uint32_t stamp = ch->stamp, mask = ch->places_mask;
	uint64_t steps = 0, work = 0;
	struct vec_u32 walk = ch->walk, found = *out;
	walk.n = 0;
	bool ok = VEC_PUSH(&walk, start);
	while (walk.n && ok) {
		uint32_t b = walk.at[--walk.n];
		while (seen[b & mask] != stamp) {
			seen[b & mask] = stamp;
			steps++;
			const struct hop *hop = &hops[b];
			if (conflict_is_node(ch, b)) {
				ok = VEC_PUSH(&found, b);
				break;
			}
			if (hop->flags & HOP_RET) {
				ok = *exit_seen || VEC_PUSH(&found, NODE_EXIT);
				*exit_seen = true;
				break;
			}
			uint32_t n = hop->n_succ;
			if (n > 1) {
				uint32_t *fan = &seen_fan[alike[b] & mask];
				if (*fan == stamp)
					break;
				*fan = stamp;
			}
			work += n;
			if (!n || !(ok = VEC_RESERVE(&walk, n)))
				break;
			const uint32_t *succs = all_succs + hop->succ;
			for (uint32_t i = 0; i < n - 1; i++)
				if (seen[succs[i] & mask] != stamp)
					walk.at[walk.n++] = succs[i];
			b = succs[n - 1]; /* the last is walked at once */
		}
	}
	ch->failed |= !ok;
	ch->walk = walk;
	*out = found;
	ch->steps += steps;
	ch->work += steps + work;
}

/* ---- walks that are kept ---- */

/* Where the nodes that follow a block, or that a walk from it finds, are kept. */
enum kept_side { KEPT_AFTER, KEPT_FROM };

/* Where nodes are kept at most; past it all is forgotten. */
#define KEPT_NODES_MAX (4u << 20)

void conflict_keep(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct kept *kept = &ch->kept;
	kept->n_blocks = 0;
	if (f->n_blocks > kept->max_blocks) {
		free(kept->walks);
		kept->walks = calloc(2 * (size_t)f->n_blocks, sizeof(*kept->walks));
		kept->max_blocks = kept->walks ? f->n_blocks : 0;
		kept->epoch = 0;
		if (!kept->walks)
			return; /* nothing is kept, which costs time alone */
	}
	kept->epoch++;
	kept->nodes.n = 0;
	kept->block = f->block;
	kept->n_blocks = f->n_blocks;
}

void conflict_keep_nothing(struct conflicts *ch)
{
	ch->kept.n_blocks = 0;
}

static struct kept_walk *kept_walk_at(const struct conflicts *ch, uint32_t block,
				      enum kept_side side)
{
	uint32_t i = block - ch->kept.block; /* huge where the block comes before */
	return i < ch->kept.n_blocks ? &ch->kept.walks[2 * (size_t)i + side] : NULL;
}

static void forget_walk(const struct conflicts *ch, uint32_t block, enum kept_side side)
{
	struct kept_walk *walk = kept_walk_at(ch, block, side);
	if (walk)
		walk->epoch = 0;
}

void conflict_forget(struct conflicts *ch, uint32_t block)
{
	if (!ch->kept.n_blocks)
		return;
	uint32_t stamp = ++ch->stamp;
	ch->back.n = 0;
	push(ch, &ch->back, block);
	ch->seen_back[conflict_place(ch, block)] = stamp;
	forget_walk(ch, block, KEPT_FROM);
	while (ch->back.n) {
		uint32_t b = ch->back.at[--ch->back.n];
		for (uint32_t p = ch->pred_at[b]; p < ch->pred_at[b + 1]; p++) {
			uint32_t pred = ch->preds[p];
			uint32_t *seen = &ch->seen_back[conflict_place(ch, pred)];
			if (*seen == stamp && pred != block)
				continue;
			*seen = stamp;
			forget_walk(ch, pred, KEPT_AFTER);
			if (pred == block || conflict_is_node(ch, pred))
				continue;
			forget_walk(ch, pred, KEPT_FROM);
			push(ch, &ch->back, pred);
		}
	}
	if (ch->failed)
		conflict_keep_nothing(ch);
}

static void keep_walk(struct conflicts *ch, struct kept_walk *walk, const struct vec_u32 *found,
		      uint64_t steps, uint64_t work)
{
	struct kept *kept = &ch->kept;
	if (found->n > KEPT_NODES_MAX || steps > UINT32_MAX || work > UINT32_MAX)
		return;
	if (kept->nodes.n > KEPT_NODES_MAX) {
		kept->epoch++;
		kept->nodes.n = 0;
	}
	if (!VEC_RESERVE(&kept->nodes, found->n))
		return;
	*walk = (struct kept_walk){kept->epoch, kept->nodes.n, found->n, (uint32_t)steps,
				   (uint32_t)work};
	if (found->n)
		memcpy(kept->nodes.at + kept->nodes.n, found->at, found->n * sizeof(*found->at));
	kept->nodes.n += found->n;
}

static void walk_again(struct conflicts *ch, const struct kept_walk *walk, struct vec_u32 *out)
{
	ch->steps += walk->steps;
	ch->work += walk->work;
	if (!VEC_RESERVE(out, walk->n)) {
		ch->failed = true;
		return;
	}
	if (walk->n)
		memcpy(out->at, ch->kept.nodes.at + walk->at, walk->n * sizeof(*out->at));
	out->n = walk->n;
}

/* Walks from each of the @n blocks at @starts; @walk: where that is kept, or NULL. */
static void walk_from(struct conflicts *ch, const uint32_t *starts, uint32_t n,
		      struct kept_walk *walk, struct vec_u32 *out)
{
	if (walk && walk->epoch == ch->kept.epoch) {
		walk_again(ch, walk, out);
		return;
	}
	uint64_t steps = ch->steps, work = ch->work;
	bool exit_seen = false;
	for (uint32_t i = 0; i < n; i++)
		reach(ch, starts[i], out, &exit_seen);
	if (walk)
		keep_walk(ch, walk, out, ch->steps - steps, ch->work - work);
}

static void walk_from_one(struct conflicts *ch, uint32_t start, struct vec_u32 *out)
{
	if (!conflict_is_node(ch, start)) {
		walk_from(ch, &start, 1, kept_walk_at(ch, start, KEPT_FROM), out);
		return;
	}
	ch->steps++;
	ch->work++;
	push(ch, out, start);
}

void conflict_alternatives(struct conflicts *ch, struct decision d, struct vec_u32 *out)
{
	out->n = 0;
	ch->stamp++;
	if (d.block == PUGMARK_NONE) {
		walk_from_one(ch, ch->prog->funcs[d.func].block, out);
		return;
	}
	const struct prog_block *block = &ch->prog->blocks[d.block];
	if (block->flags & PROG_NORETURN)
		return;
	if (block->flags & (PROG_RET | PROG_TAIL)) {
		push(ch, out, NODE_EXIT);
		return;
	}
	/* A jump through a table may have thousands of ways, each with a decision of its own. */
	const uint32_t *succs = prog_succs(ch->prog, d.block);
	if (d.way != WAY_ALL && d.way < block->n_succ)
		walk_from_one(ch, succs[d.way], out);
	else if (d.way == WAY_ALL && block->n_succ == 1)
		walk_from_one(ch, succs[0], out);
	else if (d.way == WAY_ALL)
		walk_from(ch, succs, block->n_succ, kept_walk_at(ch, d.block, KEPT_AFTER), out);
}

uint32_t conflict_ways(const struct conflicts *ch, uint32_t block)
{
	return conflict_tells_way(ch, block) ? ch->prog->blocks[block].n_succ : 1;
}

uint32_t conflict_decision_way(const struct conflicts *ch, uint32_t block, uint32_t i)
{
	return conflict_tells_way(ch, block) ? i : WAY_ALL;
}
