// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_best.c: the choice of mode `best` for one function whose callees are chosen for. It starts
 * with a mark on everything that can carry one, then takes marks away, the most expensive first, as
 * long as every decision that could feel it still holds. What remains is minimal, unless the work
 * for it was used up: no mark can be taken away alone.
 *
 * Another order may lead to a cheaper minimum. Where a recording has counted the function, others
 * are tried: each mark that stayed is in turn the first to go. Where frequencies are only estimated
 * this is not worth the time: what the estimate called cheaper was not cheaper in runs. */
#include "offline/base/sort.h"
#include "offline/choose/choose_forced.h"
#include "offline/choose/choose_modes.h"

#include <stdlib.h>
#include <string.h>

/* Work that one function may cost, and what all may share beyond that, so that one huge function,
 * the main loop of an interpreter, is done to the end. A mark that was not tried when the work is
 * used up stays. */
#define STEPS_PER_FUNCTION (30ull << 20)
#define STEPS_PER_BLOCK (512ull << 10)
#define STEPS_SPARE (200ull << 20)

/* A mark on a call never sends more events than there are calls to report. A mark elsewhere may,
 * where its frequency is estimated too low. So it has to save more to be chosen. */
#define NO_CALL_RISK 3.0f
/* Where frequencies are counted there is no such risk. What is left: a call that shows helps its
 * callers as well. */
#define NO_CALL_COUNTED 1.3f

#define ORDERS_MAX 32	      /* that are tried for one function */
#define ORDERS_BLOCKS_MAX 512 /* for larger ones none are */

struct candidate {
	uint32_t block;
	float weight; /* expected ns in one activation, times a penalty where no call is reported */
};

/* Puts the heaviest first; of those that weigh the same, in the order of their blocks. No weight is
 * negative, so that their bits are in their order. */
static void heavier_first(struct conflicts *ch, struct candidate *candidates, uint32_t n)
{
	uint64_t *keys = malloc((n + 1) * sizeof(*keys));
	if (!keys) {
		ch->failed = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t weight;
		memcpy(&weight, &candidates[i].weight, sizeof(weight));
		keys[i] = (uint64_t)~weight << 32 | candidates[i].block;
	}
	sort_u64(keys, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t weight = ~(uint32_t)(keys[i] >> 32);
		candidates[i].block = (uint32_t)keys[i];
		memcpy(&candidates[i].weight, &weight, sizeof(weight));
	}
	free(keys);
}

/* Marks what is not marked yet: what @seed has, or with NULL everything that can be. Returns the
 * marks that may be taken away. */
static struct candidate *mark_more(struct conflicts *ch, const struct prog_func *f,
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
		bool branch = block->flags & PROG_BRANCH && prog_probeable(&block->last);
		const struct prog_probe *probe = branch ? &block->last : &block->any;
		if (!prog_probeable(probe))
			continue;
		ch->marks[b] = seed ? seed[b] : branch ? MARK_BRANCH : MARK_BLOCK;
		/* A call of a function that is not known yet stays: whether it calls itself before
		 * anything shows is not checked here. */
		if (seed && block->call == CALL_DIRECT && !ch->sums[block->callee].known)
			continue;
		float weight = block->freq * probe->cost_ns;
		if (block->call == CALL_NONE && !(f->flags & PROG_PATHS))
			weight *= f->flags & PROG_COUNTED ? NO_CALL_COUNTED : NO_CALL_RISK;
		candidates[(*count)++] = (struct candidate){b, weight};
	}
	return candidates;
}

/* The marks that @forced has not. */
static struct candidate *marks_beyond(struct conflicts *ch, const struct prog_func *f,
				      const uint8_t *forced, uint32_t *count)
{
	struct candidate *c = calloc(f->n_blocks, sizeof(*c));
	ch->failed |= !c;
	*count = 0;
	for (uint32_t b = f->block; c && b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (ch->marks[b] && !forced[b - f->block])
			c[(*count)++] = (struct candidate){b, block->freq * block->last.cost_ns};
	}
	return c;
}

/* Takes marks away in this order, as far as may be. */
static void take_away(struct conflicts *ch, uint32_t func, const struct candidate *order,
		      uint32_t n, uint64_t limit)
{
	conflict_keep(ch, func);
	if (!(ch->prog->funcs[func].flags & PROG_PATHS))
		conflict_watch(ch, func);
	for (uint32_t i = 0; i < n && ch->steps < limit && !ch->failed && !conflict_spent(ch); i++)
		conflict_do_without(ch, func, order[i].block);
	conflict_keep_nothing(ch);
}

/* What those marks weigh that have stayed. */
static double cost_left(const struct conflicts *ch, const struct candidate *order, uint32_t n)
{
	double sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += ch->marks[order[i].block] ? (double)order[i].weight : 0;
	return sum;
}

static void move_first(struct candidate *order, uint32_t at)
{
	struct candidate first = order[at];
	memmove(order + 1, order, at * sizeof(*order));
	order[0] = first;
}

/* Tries other orders of taking marks away than @order, which led from the marks @all to those that
 * the function has now. @all and @best hold the marks of the function's blocks. */
static void try_orders(struct conflicts *ch, uint32_t func, struct candidate *order, uint32_t n,
		       const uint8_t *all, uint8_t *best, uint64_t limit)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	uint8_t *marks = ch->marks + f->block;
	struct candidate *trial = malloc(n * sizeof(*trial));
	ch->failed |= !trial;
	double cost = cost_left(ch, order, n);
	memcpy(best, marks, f->n_blocks);
	for (uint32_t i = 0, tried = 0; i < n && tried < ORDERS_MAX && !ch->failed; i++) {
		if (!best[order[i].block - f->block] || order[i].weight <= 0)
			continue;
		tried++;
		memcpy(trial, order, n * sizeof(*trial));
		move_first(trial, i);
		memcpy(marks, all, f->n_blocks);
		take_away(ch, func, trial, n, limit);
		double now = cost_left(ch, trial, n);
		if (ch->steps >= limit || now >= cost)
			continue;
		cost = now;
		memcpy(best, marks, f->n_blocks);
		memcpy(order, trial, n * sizeof(*trial));
	}
	memcpy(marks, best, f->n_blocks);
	free(trial);
}

/* How many events the marks of @f send in one activation, as far as is known. */
static double events_of(const struct conflicts *ch, const struct prog_func *f)
{
	double sum = 0;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		sum += ch->marks[b] ? (double)ch->prog->blocks[b].freq : 0;
	return sum;
}

/* Where the work was used up, far more marks may have stayed than there are calls and returns. So
 * this begins with a mark on each of those instead, and keeps whichever sends less. */
static void choose_from_calls(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	uint8_t *marks = ch->marks + f->block, *old = malloc(2 * (size_t)f->n_blocks);
	if (!old) {
		ch->failed = true;
		return;
	}
	uint32_t n;
	double events = events_of(ch, f);
	memcpy(old, marks, f->n_blocks);
	memset(marks, 0, f->n_blocks);
	force_function(ch, func);
	memcpy(old + f->n_blocks, marks, f->n_blocks);
	choose_full(ch, func);
	struct candidate *c = marks_beyond(ch, f, old + f->n_blocks, &n);
	if (c && n && conflict_function_holds(ch, func)) {
		heavier_first(ch, c, n);
		take_away(ch, func, c, n, ch->steps + STEPS_PER_FUNCTION);
	}
	if (!c || events_of(ch, f) >= events || !conflict_function_holds(ch, func))
		memcpy(marks, old, f->n_blocks);
	free(c);
	free(old);
}

/* Marks more, and takes away what is not needed of that. */
static void choose_from(struct conflicts *ch, uint32_t func, const uint8_t *seed)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks)
		return;
	uint32_t n;
	struct candidate *candidates = mark_more(ch, f, seed, &n);
	bool search = f->flags & PROG_COUNTED && !(f->flags & PROG_PATHS) && n > 1 &&
		      f->n_blocks <= ORDERS_BLOCKS_MAX;
	uint8_t *all = search ? malloc(2 * (size_t)f->n_blocks) : NULL;
	ch->failed |= search && !all;
	if (!candidates || ch->failed) {
		free(candidates);
		free(all);
		return;
	}
	if (search)
		memcpy(all, ch->marks + f->block, f->n_blocks);
	heavier_first(ch, candidates, n);
	uint64_t start = ch->steps, extra = f->n_blocks * STEPS_PER_BLOCK;
	uint64_t spare = STEPS_SPARE - ch->spent;
	uint64_t limit = start + STEPS_PER_FUNCTION + (extra < spare ? extra : spare);
	take_away(ch, func, candidates, n, limit);
	bool stopped = ch->steps >= limit;
	if (search && !stopped)
		try_orders(ch, func, candidates, n, all, all + f->n_blocks, limit);
	if (ch->steps > start + STEPS_PER_FUNCTION)
		ch->spent += ch->steps - start - STEPS_PER_FUNCTION;
	if (ch->spent > STEPS_SPARE)
		ch->spent = STEPS_SPARE;
	free(candidates);
	free(all);
	if (stopped && !seed && !(f->flags & PROG_PATHS))
		choose_from_calls(ch, func);
}

void choose_best(struct conflicts *ch, uint32_t func)
{
	choose_from(ch, func, NULL);
}

void choose_seeded(struct conflicts *ch, uint32_t func, const uint8_t *seed)
{
	choose_from(ch, func, seed);
}
