// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_entry.c: the witness of an entry from anywhere, further down. What tells that a function
 * was entered may stand behind its first branches, in several blocks, if each activation passes one
 * of these, once, before it calls or ends. Where such a block is marked anyway, this costs nothing,
 * and the marks on the way there go: which block it was says all that they told.
 *
 * The *region* is what is passed before: without calls, closed under predecessors, so that nothing
 * leads back into it. The *front* is what follows the region, and is entered from it alone. From
 * the empty region on, the one that costs least next is taken, and in the end the best of all. */
#include "offline/choose_entry.h"

#include "offline/chooser_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REGION_MAX 32

/* What a block that may be passed must not be: nothing happens in it but a decision. */
#define NOT_PASSED                                                                                 \
	(PROG_RET | PROG_TAIL | PROG_NORETURN | PROG_ROOT | PROG_VIRTUAL | PROG_OPEN | PROG_READ | \
	 PROG_READ_CALL | PROG_FORKS | PROG_SWITCHES)
#define NOT_FRONT (PROG_ROOT | PROG_VIRTUAL | PROG_READ | PROG_READ_CALL)

struct region {
	uint32_t at[REGION_MAX], n;
	double cost_ns; /* beyond that of the empty one, in an activation */
};

static bool has(const struct region *r, uint32_t block)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->at[i] == block)
			return true;
	return false;
}

static bool may_be_passed(const struct chooser *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	/* Another block of the same code is what a system call parts from it. */
	bool split = block + 1 < ch->prog->n_blocks && b->origin != PUGMARK_NONE &&
		     b[1].origin == b->origin;
	return b->call == CALL_NONE && b->n_succ && !(b->flags & NOT_PASSED) && !split;
}

/* What is to be taken into the region, and for what. */
struct wanted {
	uint32_t block, depth;
	const struct wanted *by;
};

/* Takes @block into the region, and before it what leads to it. False: it cannot be; the region is
 * of no use then. */
static bool take_in(const struct chooser *ch, struct region *r, uint32_t block,
		    const struct wanted *by)
{
	struct wanted w = {block, by ? by->depth + 1 : 0, by};
	if (has(r, block))
		return true;
	for (; by; by = by->by)
		if (by->block == block)
			return false; /* it leads back to itself */
	if (w.depth == REGION_MAX || !may_be_passed(ch, block))
		return false;
	for (uint32_t i = ch->pred_at[block]; i < ch->pred_at[block + 1]; i++)
		if (!take_in(ch, r, ch->preds[i], &w))
			return false;
	if (r->n == REGION_MAX)
		return false;
	r->at[r->n++] = block;
	return true;
}

/* What follows the region, each once, in @front; at most @max. */
static uint32_t front_of(const struct chooser *ch, const struct region *r, uint32_t *front,
			 uint32_t max)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct prog_block *b = &ch->prog->blocks[r->at[i]];
		for (uint32_t k = 0; k < b->n_succ; k++) {
			uint32_t to = prog_succs(ch->prog, r->at[i])[k], at = 0;
			while (at < n && front[at] != to)
				at++;
			if (at < n || has(r, to))
				continue;
			if (n == max)
				return UINT32_MAX;
			front[n++] = to;
		}
	}
	return n;
}

/* By what probe @mark says which frame it is in; NULL: it does not. */
static const struct prog_probe *frame_probe(const struct prog_block *b, uint8_t mark)
{
	const struct prog_probe *probe = mark == MARK_BLOCK ? &b->any : &b->last;
	bool callee = mark == MARK_LAST && b->call != CALL_NONE && !(b->flags & PROG_TAIL) &&
		      b->height == PUGMARK_HEIGHT_UNKNOWN;
	return isfinite(probe->cost_ns) && probe->cfa_known && !probe->deep && !callee ? probe
										       : NULL;
}

/* The mark that @block of the front has or gets; MARK_NONE: it cannot tell of the entry. */
static uint8_t front_mark(const struct chooser *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->flags & NOT_FRONT)
		return MARK_NONE;
	if (ch->marks[block])
		return frame_probe(b, ch->marks[block]) ? ch->marks[block] : MARK_NONE;
	const struct prog_probe *any = frame_probe(b, MARK_BLOCK);
	const struct prog_probe *jump = b->flags & PROG_BRANCH ? frame_probe(b, MARK_BRANCH) : NULL;
	if (jump && (!any || jump->cost_ns <= any->cost_ns))
		return MARK_BRANCH;
	return any ? MARK_BLOCK : MARK_NONE;
}

static double mark_cost(const struct prog_block *b, uint8_t mark)
{
	return (double)b->freq * (mark == MARK_BLOCK ? b->any.cost_ns : b->last.cost_ns);
}

/* Completes the region, so that what follows it is entered from it alone, and finds its cost. */
static bool complete(const struct chooser *ch, struct region *r)
{
	uint32_t front[2 * REGION_MAX], n, before;
	do {
		before = r->n;
		n = front_of(ch, r, front, 2 * REGION_MAX);
		if (n == UINT32_MAX)
			return false;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t p = ch->pred_at[front[i]]; p < ch->pred_at[front[i] + 1]; p++)
				if (!take_in(ch, r, ch->preds[p], NULL))
					return false;
	} while (r->n != before);
	r->cost_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t mark = front_mark(ch, front[i]);
		if (!mark)
			r->cost_ns = INFINITY;
		else if (!ch->marks[front[i]])
			r->cost_ns += mark_cost(&ch->prog->blocks[front[i]], mark);
	}
	for (uint32_t i = 0; i < r->n; i++)
		if (ch->marks[r->at[i]])
			r->cost_ns -= mark_cost(&ch->prog->blocks[r->at[i]], ch->marks[r->at[i]]);
	return true;
}

/* The next larger region, by one block of the front and what that takes: the cheapest. */
static bool enlarge(struct chooser *ch, struct region *r)
{
	uint32_t front[2 * REGION_MAX];
	uint32_t n = front_of(ch, r, front, 2 * REGION_MAX);
	struct region best = {.n = 0};
	for (uint32_t i = 0; i < n; i++) {
		struct region next = *r;
		ch->steps += REGION_MAX;
		if (take_in(ch, &next, front[i], NULL) && complete(ch, &next) &&
		    (!best.n || next.cost_ns < best.cost_ns))
			best = next;
	}
	if (best.n)
		*r = best;
	return best.n;
}

static void apply(struct chooser *ch, const struct region *r)
{
	uint32_t front[2 * REGION_MAX];
	uint32_t n = front_of(ch, r, front, 2 * REGION_MAX);
	for (uint32_t i = 0; i < n; i++)
		ch->marks[front[i]] = front_mark(ch, front[i]);
	for (uint32_t i = 0; i < r->n; i++)
		ch->marks[r->at[i]] = MARK_NONE;
}

bool choose_entry(struct chooser *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (ch->plain || !f->n_blocks || !(f->flags & PROG_ENTRY_WITNESS) ||
	    f->flags & (PROG_PATHS | PROG_FUNC_SWITCHES | PROG_FUNC_LEAVES) ||
	    !frame_probe(&ch->prog->blocks[f->block], ch->marks[f->block]))
		return false;
	struct region now = {.n = 0}, best = now;
	if (!take_in(ch, &now, f->block, NULL) || !complete(ch, &now))
		return false;
	do
		if (now.cost_ns < best.cost_ns)
			best = now;
	while (enlarge(ch, &now));
	if (!best.n)
		return false;
	uint8_t *old = malloc(f->n_blocks);
	if (!old) {
		ch->failed = true;
		return false;
	}
	uint32_t faults = chooser_function_faults(ch, func);
	memcpy(old, ch->marks + f->block, f->n_blocks);
	apply(ch, &best);
	chooser_find_entries(ch, func);
	bool holds = chooser_function_faults(ch, func) <= faults;
	if (!holds) {
		memcpy(ch->marks + f->block, old, f->n_blocks);
		chooser_find_entries(ch, func);
	}
	free(old);
	return holds;
}
