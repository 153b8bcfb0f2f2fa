// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_best.c: the choice of mode `best` for one function, its callees chosen already: start
 * with a mark on everything that can carry one, then take marks away, the most expensive first,
 * as long as every decision that could feel it still holds. What remains is minimal: no mark can
 * be taken away alone. */
#include "offline/chooser.h"

#include <math.h>
#include <stdlib.h>

/* Work one function may cost, and more from what is there for all, so that one huge function, the
 * main loop of an interpreter, is done to the end. What is not tried by then keeps its mark. */
#define STEPS_PER_FUNCTION (30ull << 20)
#define STEPS_PER_BLOCK (512ull << 10)
#define STEPS_SPARE (200ull << 20)

/* A mark on a call never sends more events than there are calls to report; one beside the calls
 * may, where its frequency is guessed too low. So it has to promise more. */
#define NO_CALL_RISK 3.0f

struct candidate {
	uint32_t block;
	float weight; /* expected ns in one activation */
};

static int heavier_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* Marks what is not marked yet: what @seed has, or with NULL everything that can be. Returns the
 * marks that may be taken away. */
static struct candidate *mark_more(struct chooser *ch, const struct prog_func *f,
				   const uint8_t *seed, uint32_t *count)
{
	struct candidate *candidates = calloc(f->n_blocks, sizeof(*candidates));
	*count = 0;
	if (!candidates) {
		ch->failed = true;
		return NULL;
	}
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (ch->marks[b] || !(block->flags & PROG_REACHED) || (seed && !seed[b]))
			continue;
		bool branch = block->flags & PROG_BRANCH && isfinite(block->last.cost_ns);
		const struct prog_probe *probe = branch ? &block->last : &block->any;
		if (!isfinite(probe->cost_ns))
			continue;
		ch->marks[b] = seed ? seed[b] : branch ? MARK_BRANCH : MARK_BLOCK;
		float weight = block->freq * probe->cost_ns;
		if (block->call == CALL_NONE && !(f->flags & PROG_PATHS))
			weight *= NO_CALL_RISK;
		candidates[(*count)++] = (struct candidate){b, weight};
	}
	return candidates;
}

/* Takes the mark of @c away if all holds without it. */
static bool try_without(struct chooser *ch, uint32_t func, const struct candidate *c)
{
	uint8_t mark = ch->marks[c->block];
	ch->marks[c->block] = MARK_NONE;
	if (chooser_surroundings_hold(ch, func, c->block))
		return true;
	ch->marks[c->block] = mark;
	return false;
}

/* Marks more, and takes away what is not needed of that: with @keep nothing. */
static void choose_from(struct chooser *ch, uint32_t func, const uint8_t *seed, bool keep)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks)
		return;
	uint32_t n;
	struct candidate *candidates = mark_more(ch, f, seed, &n);
	if (!candidates)
		return;
	qsort(candidates, n, sizeof(*candidates), heavier_first);
	uint64_t start = ch->steps, extra = f->n_blocks * STEPS_PER_BLOCK;
	uint64_t spare = STEPS_SPARE - ch->spent;
	uint64_t limit = start + STEPS_PER_FUNCTION + (extra < spare ? extra : spare);
	for (uint32_t i = 0; !keep && i < n && ch->steps < limit && !ch->failed; i++)
		try_without(ch, func, &candidates[i]);
	if (ch->steps > start + STEPS_PER_FUNCTION)
		ch->spent += ch->steps - start - STEPS_PER_FUNCTION;
	if (ch->spent > STEPS_SPARE)
		ch->spent = STEPS_SPARE;
	free(candidates);
}

void choose_best(struct chooser *ch, uint32_t func)
{
	choose_from(ch, func, NULL, false);
}

void choose_seeded(struct chooser *ch, uint32_t func, const uint8_t *seed, bool keep)
{
	choose_from(ch, func, seed, keep);
}
