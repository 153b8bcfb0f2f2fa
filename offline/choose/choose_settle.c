// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_settle.c: summaries of recursive functions; and, when all functions are chosen for, the
 * mending of those whose decisions do not hold. After each round only what a change could have
 * touched is summarised and checked again. */
#include "offline/choose/choose_settle.h"

#include "offline/choose/choose_forced.h"
#include "offline/choose/choose_modes.h"
#include "offline/choose/choose_whole.h"

#include <stdlib.h>
#include <string.h>

/* Marks the call in @block, or the jcc that it is one way of; returns whether that is new. */
static bool mark_jump_or_call(struct conflicts *ch, uint32_t block)
{
	bool marked = false;
	if (prog_probeable(&ch->prog->blocks[block].last)) {
		ch->marks[block] = MARK_LAST;
		return true;
	}
	if (!(ch->prog->blocks[block].flags & PROG_VIRTUAL))
		return false;
	for (uint32_t p = ch->pred_at[block]; p < ch->pred_at[block + 1]; p++) {
		uint32_t pred = ch->preds[p];
		if (!(ch->prog->blocks[pred].flags & PROG_BRANCH) || ch->marks[pred] ||
		    !prog_probeable(&ch->prog->blocks[pred].last))
			continue;
		ch->marks[pred] = MARK_BRANCH;
		marked = true;
	}
	return marked;
}

/* Functions that call each other without end and without an event, unless something is thrown:
 * their calls must show (the paper's Definition 6 forbids left recursion). Where sites alone tell,
 * only the back edges among them. Returns whether a mark was added. */
static bool mark_left_recursion(struct conflicts *ch, const uint32_t *funcs, uint32_t n)
{
	bool marked = false;
	for (uint32_t i = 0; i < n; i++) {
		const struct prog_func *f = &ch->prog->funcs[funcs[i]];
		const struct summary *sum = &ch->sums[funcs[i]];
		if (sum->nullable || sum->first.n || sum->first.top)
			continue;
		for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
			const struct prog_block *block = &ch->prog->blocks[b];
			bool recursive = false;
			for (uint32_t k = ch->plain ? i : 0; k < n && block->call == CALL_DIRECT;
			     k++)
				recursive |= funcs[k] == block->callee;
			if (!recursive || ch->marks[b] || !(block->flags & PROG_REACHED))
				continue;
			marked |= mark_jump_or_call(ch, b);
		}
	}
	return marked;
}

static void make_stale(struct conflicts *ch, const uint32_t *funcs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ch->stale[funcs[i]] = true;
}

/* Summarises those functions of the component again that call one whose summary has grown since;
 * returns whether one grew. */
static bool summarise_stale(struct conflicts *ch, struct call_order order, uint32_t from,
			    uint32_t to)
{
	bool grew = false;
	for (uint32_t i = from; i < to; i++) {
		uint32_t f = order.funcs[i];
		if (!ch->stale[f])
			continue;
		ch->stale[f] = false;
		if (!conflict_summarise(ch, f))
			continue;
		grew = true;
		ch->stale[f] = conflict_needs_more(&ch->sums[f]);
		for (uint32_t c = order.callers_at[f]; c < order.callers_at[f + 1]; c++)
			if (order.component[order.callers[c]] == order.component[f])
				ch->stale[order.callers[c]] = true;
	}
	return grew;
}

/* Summaries of a component of recursive functions: the least fixpoint. While the component was
 * chosen for, its members stood for anything at all to each other, so this can only be less; not so
 * in mode casper, where each is known as soon as it is chosen for (know_component()). */
bool summarise_component(struct conflicts *ch, struct call_order order, uint32_t from, uint32_t to)
{
	const uint32_t *funcs = order.funcs + from;
	bool marked = false, again = true;
	for (uint32_t i = from; i < to; i++)
		ch->sums[order.funcs[i]].known = true;
	make_stale(ch, funcs, to - from);
	while (again && !ch->failed) {
		again = summarise_stale(ch, order, from, to);
		if (again || !mark_left_recursion(ch, funcs, to - from))
			continue;
		make_stale(ch, funcs, to - from);
		again = marked = true;
	}
	return marked;
}

uint32_t component_end(const struct conflicts *ch, struct call_order order, uint32_t i)
{
	uint32_t end = i;
	while (end < ch->prog->n_funcs &&
	       order.component[order.funcs[end]] == order.component[order.funcs[i]])
		end++;
	return end;
}

void summarise_anew(struct conflicts *ch, struct call_order order)
{
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++) {
		terminal_set_free(&ch->sums[f].first);
		terminal_set_free(&ch->sums[f].need);
		ch->sums[f] = (struct summary){0};
		conflict_uncheck(ch, f);
	}
	for (uint32_t i = 0, end; i < ch->prog->n_funcs && !ch->failed; i = end) {
		end = component_end(ch, order, i);
		summarise_component(ch, order, i, end);
	}
	conflict_globalise(ch);
}

/* Sets whether the component is known, for mode casper only from @at on: Algorithm 1 knows what
 * comes before in the order. */
static void know_component(struct conflicts *ch, struct call_order order, uint32_t at, bool known)
{
	uint32_t component = order.component[order.funcs[at]];
	while (at && !ch->plain && order.component[order.funcs[at - 1]] == component)
		at--;
	for (uint32_t end = component_end(ch, order, at); at < end; at++)
		ch->sums[order.funcs[at]].known = known;
}

/* Chooses for a function again. Its own component counts as anything meanwhile, or it might call
 * itself before anything shows. */
static void choose_again(struct conflicts *ch, choose_function *choose, struct call_order order,
			 uint32_t at)
{
	uint32_t func = order.funcs[at];
	const struct prog_func *f = &ch->prog->funcs[func];
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		ch->marks[b] = MARK_NONE;
	force_function(ch, func);
	know_component(ch, order, at, false);
	choose_bounded(ch, func, choose, NULL);
	know_component(ch, order, at, true);
}

struct settling {
	choose_function *choose;
	struct call_order order;
	uint8_t *marks; /* of one function, as they were */
	bool *marked;	/* per function: its marks have changed */
	bool *near;	/* per function: it calls one whose summary has changed */
	bool *look;	/* per function: its decisions may not hold */
};

static bool same_summary(const struct summary *a, const struct summary *b)
{
	return terminal_set_same(&a->first, &b->first) && terminal_set_same(&a->need, &b->need) &&
	       a->nullable == b->nullable && a->need_global == b->need_global &&
	       a->global_depth == b->global_depth;
}

bool calls_anything(const struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (block->call == CALL_UNKNOWN ||
		    (block->call == CALL_DIRECT && ch->sums[block->callee].need_global))
			return true;
	}
	return false;
}

/* The summary of @func has changed: notes who calls it. */
static void note_learnt(struct settling *s, uint32_t func)
{
	for (uint32_t c = s->order.callers_at[func]; c < s->order.callers_at[func + 1]; c++)
		s->near[s->order.callers[c]] = true;
}

/* Summarises the functions at [@from, @to) of the order again, and notes who calls those that have
 * changed. */
static void learn_again(struct conflicts *ch, struct settling *s, uint32_t from, uint32_t to)
{
	const uint32_t *funcs = s->order.funcs + from;
	struct summary *old = calloc(to - from, sizeof(*old));
	if (!old) {
		ch->failed = true;
		return;
	}
	for (uint32_t i = 0; i < to - from; i++) {
		old[i] = ch->sums[funcs[i]];
		ch->sums[funcs[i]] = (struct summary){0};
	}
	bool marked = summarise_component(ch, s->order, from, to);
	for (uint32_t i = 0; i < to - from; i++) {
		s->marked[funcs[i]] |= marked;
		if (!same_summary(&old[i], &ch->sums[funcs[i]]))
			note_learnt(s, funcs[i]);
		terminal_set_free(&old[i].first);
		terminal_set_free(&old[i].need);
	}
	free(old);
}

/* After marks have changed: the summaries that this changes, and which functions are to be looked
 * at for it. */
static void learn(struct conflicts *ch, struct settling *s)
{
	uint32_t n = ch->prog->n_funcs;
	memset(s->near, 0, n * sizeof(bool));
	ch->global_grew = false;
	for (uint32_t i = 0, end; i < n && !ch->failed; i = end) {
		bool again = false;
		end = component_end(ch, s->order, i);
		for (uint32_t k = i; k < end; k++)
			again |= s->marked[s->order.funcs[k]] || s->near[s->order.funcs[k]];
		if (again)
			learn_again(ch, s, i, end);
	}
	conflict_globalise(ch);
	for (uint32_t f = 0; f < n; f++) {
		s->look[f] =
			s->marked[f] || s->near[f] || (ch->global_grew && calls_anything(ch, f));
		if (s->look[f])
			conflict_uncheck(ch, f);
	}
}

/* Chooses again for the function at @at of the order if its decisions do not hold; returns whether
 * its marks changed. */
static bool mend(struct conflicts *ch, struct settling *s, uint32_t at, bool again)
{
	uint32_t func = s->order.funcs[at];
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!s->look[func] || conflict_check(ch, func))
		return false;
	memcpy(s->marks, ch->marks + f->block, f->n_blocks);
	if (again)
		choose_again(ch, s->choose, s->order, at);
	/* Where only sites tell, every call and return does better than blocks and branches. */
	if (ch->plain && (!again || !conflict_function_holds(ch, func)))
		choose_full(ch, func);
	if ((!again && !ch->plain) || !conflict_function_holds(ch, func))
		mark_all_over(ch, func);
	return memcmp(s->marks, ch->marks + f->block, f->n_blocks) != 0;
}

/* Each round takes about half as long as the one before. */
static void tell_round(const struct conflicts *ch, int round, uint32_t at, uint32_t n)
{
	double behind = 1 - 1 / (double)(1 << round), its = 1 / (double)(2 << round);

	if (ch->prog->told && at % 64 == 0)
		ch->prog->told(ch->prog->told_ctx, PART_CHOSEN + (PART_SETTLED - PART_CHOSEN) *
									 (behind + its * at / n));
}

#define CHOICES_MAX 4
void settle(struct conflicts *ch, choose_function *choose, struct call_order order)
{
	uint32_t n = ch->prog->n_funcs;
	bool *flags = calloc(3 * (size_t)n + 1, sizeof(bool));
	struct settling s = {choose, order,	malloc(ch->prog->n_blocks + 1),
			     flags,  flags + n, flags + 2 * n};
	ch->failed |= !s.marks || !flags;
	bool any = !ch->failed;
	if (any)
		memset(s.look, true, n * sizeof(bool));
	for (int round = 0; any && round < 2 * CHOICES_MAX && !ch->failed; round++) {
		any = false;
		for (uint32_t i = 0; i < n; i++) {
			tell_round(ch, round, i, n);
			bool changed = mend(ch, &s, i, round < CHOICES_MAX);
			s.marked[order.funcs[i]] = changed;
			any |= changed;
		}
		if (any)
			learn(ch, &s);
	}
	free(s.marks);
	free(flags);
}
