// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_recursive.c: a second look at functions that call each other. While one of them was chosen
 * for, the others counted as anything at all, so it kept marks that it can do without now. Marks
 * are taken away on trial, the most expensive first, several at a time. The summaries of their
 * functions are computed anew, and those of all callers that this changes; a caller whose decisions
 * no longer hold is chosen for again. The trial stands if everything holds and costs less than
 * before. Otherwise everything is restored, and each half of the marks is tried by itself. */
#include "offline/choose/choose_recursive.h"

#include "offline/choose/choice.h"
#include "offline/choose/choose_forced.h"
#include "offline/choose/choose_modes.h"
#include "offline/choose/choose_whole.h"
#include "offline/choose/conflict_impl.h"

#include <stdlib.h>
#include <string.h>

/* Work that all trials together may cost: this, and a part of what the choice did. */
#define STEPS_MIN (8ull << 20)
#define STEPS_MAX (8ull << 20)
#define WORTH 1e-5	  /* what costs less of the whole is left as it is */
#define TOGETHER_MAX 64	  /* marks in one trial */
#define STEPS_PER_BLOCK 8 /* that it takes to summarise a function */
#define ROUNDS_MAX 8	  /* in which callers settle */
#define GLOBAL_ROUNDS_MAX 4

struct candidate {
	uint32_t block;
	float cost;
	uint8_t mark; /* as it was before the trial; MARK_NONE: it is not part of it */
};

/* What a trial changes, as it was. */
struct before {
	uint32_t *funcs, n; /* whose summaries are kept */
	struct summary *sums;
	uint32_t *mended, n_mended; /* whose marks are kept */
	uint8_t *marks;		    /* per block */
	bool *has_sum, *has_marks;  /* per function */
};

struct pruning {
	struct conflicts *ch;
	struct call_order order;
	uint32_t *position;  /* per function: where in the order */
	bool *dirty;	     /* per function: its decisions may not hold */
	bool *to_learn;	     /* per function: its summary may not be all */
	bool *calls_left;    /* per function: scratch */
	struct vec_u32 left; /* calls before anything shows: caller, callee, ... */
	bool *changed;	     /* per function: a trial that stands has */
	struct before before;
	double gain; /* what the trial saves, as far as is known */
	uint64_t limit;
};

static void pruning_deinit(struct pruning *p)
{
	struct before *b = &p->before;
	void *heap[] = {p->position,   p->dirty,   p->to_learn, p->changed,
			p->calls_left, p->left.at, b->funcs,	b->sums,
			b->mended,     b->marks,   b->has_sum,	b->has_marks};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

static bool pruning_init(struct pruning *p, struct conflicts *ch, struct call_order order)
{
	size_t n = ch->prog->n_funcs + 1, n_blocks = ch->prog->n_blocks + 1;
	struct before *b = &p->before;
	*p = (struct pruning){.ch = ch, .order = order};
	p->position = calloc(n, sizeof(*p->position));
	p->dirty = calloc(n, sizeof(bool));
	p->to_learn = calloc(n, sizeof(bool));
	p->changed = calloc(n, sizeof(bool));
	p->calls_left = calloc(n, sizeof(bool));
	b->funcs = calloc(n, sizeof(*b->funcs));
	b->sums = calloc(n, sizeof(*b->sums));
	b->mended = calloc(n, sizeof(*b->mended));
	b->marks = calloc(n_blocks, 1);
	b->has_sum = calloc(n, sizeof(bool));
	b->has_marks = calloc(n, sizeof(bool));
	if (!p->position || !p->dirty || !p->to_learn || !p->changed || !p->calls_left ||
	    !b->funcs || !b->sums || !b->mended || !b->marks || !b->has_sum || !b->has_marks)
		return false;
	for (uint32_t i = 0; i < ch->prog->n_funcs; i++)
		p->position[order.funcs[i]] = i;
	uint64_t more = ch->steps / 16 < STEPS_MAX ? ch->steps / 16 : STEPS_MAX;
	p->limit = ch->steps + STEPS_MIN + more;
	return true;
}

/* ---- a trial, and what was before ---- */

static void keep_all(struct pruning *p)
{
	struct conflicts *ch = p->ch;
	struct before *b = &p->before;
	b->n = b->n_mended = 0;
	memset(b->has_sum, 0, ch->prog->n_funcs * sizeof(bool));
	memset(b->has_marks, 0, ch->prog->n_funcs * sizeof(bool));
	conflict_global_keep(ch);
}

/* @stands: the trial's summaries and marks are taken, else those from before. */
static void end_trial(struct pruning *p, bool stands)
{
	struct conflicts *ch = p->ch;
	struct before *b = &p->before;
	for (uint32_t i = 0; i < b->n; i++) {
		struct summary *now = &ch->sums[b->funcs[i]];
		struct summary *gone = stands ? &b->sums[i] : now;
		terminal_set_free(&gone->first);
		terminal_set_free(&gone->need);
		if (!stands)
			*now = b->sums[i];
	}
	for (uint32_t i = 0; i < b->n && stands; i++)
		p->changed[b->funcs[i]] = true;
	if (stands) {
		conflict_global_forget(ch);
		return;
	}
	for (uint32_t i = 0; i < b->n_mended; i++) {
		const struct prog_func *f = &ch->prog->funcs[b->mended[i]];
		memcpy(ch->marks + f->block, b->marks + f->block, f->n_blocks);
	}
	conflict_global_restore(ch);
}

static bool terminal_set_copy(struct terminal_set *out, const struct terminal_set *set)
{
	*out = *set;
	out->terms = malloc((set->n + 1) * sizeof(*out->terms));
	out->cap = set->n + 1;
	if (out->terms && set->n)
		memcpy(out->terms, set->terms, set->n * sizeof(*out->terms));
	return out->terms;
}

static bool keep_summary(struct pruning *p, uint32_t func)
{
	struct before *b = &p->before;
	struct summary copy = p->ch->sums[func];
	if (b->has_sum[func])
		return true;
	if (!terminal_set_copy(&copy.first, &p->ch->sums[func].first))
		return false;
	if (!terminal_set_copy(&copy.need, &p->ch->sums[func].need)) {
		terminal_set_free(&copy.first);
		return false;
	}
	b->has_sum[func] = true;
	b->funcs[b->n] = func;
	b->sums[b->n++] = copy;
	return true;
}

/* Brings the summaries up to date: of the functions in to_learn, and of all callers that this
 * changes. Terminals are only added; old ones stay though they may not be right any more, which can
 * only cost marks. Sets dirty for functions whose decisions may feel it. */
static void learn(struct pruning *p)
{
	struct conflicts *ch = p->ch;
	for (bool more = true; more && !ch->failed;) {
		more = false;
		for (uint32_t i = 0; i < ch->prog->n_funcs; i++) {
			uint32_t f = p->order.funcs[i];
			if (!p->to_learn[f])
				continue;
			p->to_learn[f] = false;
			p->dirty[f] = true;
			ch->steps += STEPS_PER_BLOCK * ch->prog->funcs[f].n_blocks;
			ch->failed |= !keep_summary(p, f);
			if (ch->failed || !conflict_summarise(ch, f))
				continue;
			for (uint32_t c = p->order.callers_at[f]; c < p->order.callers_at[f + 1];
			     c++) {
				p->to_learn[p->order.callers[c]] = true;
				more |= p->position[p->order.callers[c]] <= i;
			}
		}
	}
}

/* Chooses for @func again; returns whether its decisions then hold and the trial still saves
 * something. */
static bool mend(struct pruning *p, uint32_t func)
{
	struct conflicts *ch = p->ch;
	const struct prog_func *f = &ch->prog->funcs[func];
	struct before *b = &p->before;
	if (!b->has_marks[func]) {
		b->has_marks[func] = true;
		b->mended[b->n_mended++] = func;
		memcpy(b->marks + f->block, ch->marks + f->block, f->n_blocks);
	}
	p->gain += choice_function_cost(ch->prog, ch->marks, func);
	memset(ch->marks + f->block, 0, f->n_blocks);
	force_function(ch, func);
	choose_bounded(ch, func, choose_best, NULL);
	p->gain -= choice_function_cost(ch->prog, ch->marks, func);
	return p->gain > 0 && conflict_function_holds(ch, func);
}

/* Mends the dirty functions, and those that this makes dirty, until all hold; false: that cannot be
 * had. */
static bool settle_dirty(struct pruning *p)
{
	struct conflicts *ch = p->ch;
	bool again = true;
	for (int round = 0; again && round < ROUNDS_MAX; round++) {
		learn(p);
		again = false;
		for (uint32_t i = 0; i < ch->prog->n_funcs && !ch->failed; i++) {
			uint32_t f = p->order.funcs[i];
			if (!p->dirty[f])
				continue;
			p->dirty[f] = false;
			if (conflict_function_holds(ch, f))
				continue;
			if (!mend(p, f))
				return false;
			p->to_learn[f] = again = true;
		}
	}
	return !again && !ch->failed;
}

/* Adds to @p->left the functions of @func's component that it can call before anything shows. */
static void find_left_calls(struct pruning *p, uint32_t func)
{
	struct conflicts *ch = p->ch;
	const struct prog_func *f = &ch->prog->funcs[func];
	uint32_t stamp = ++ch->stamp;
	ch->back.n = 0;
	push(ch, &ch->back, f->block);
	while (f->n_blocks && ch->back.n) {
		uint32_t b = ch->back.at[--ch->back.n];
		const struct prog_block *block = &ch->prog->blocks[b];
		uint32_t *seen = &ch->seen_back[conflict_place(ch, b)];
		if (*seen == stamp || ch->marks[b])
			continue;
		*seen = stamp;
		ch->steps++;
		if (block->call == CALL_DIRECT &&
		    p->order.component[block->callee] == p->order.component[func]) {
			push(ch, &p->left, func);
			push(ch, &p->left, block->callee);
		}
		if (!conflict_passes_silently(ch, b) || block->flags & (PROG_TAIL | PROG_NORETURN))
			continue;
		for (uint32_t i = 0; i < block->n_succ; i++)
			push(ch, &ch->back, prog_succs(ch->prog, b)[i]);
	}
}

/* Whether no function at [@from, @to) of the order, a component, can call itself (by way of others
 * or not) before anything shows. Then one after the other can be set aside, each time one that
 * calls no function left in that way. */
static bool no_left_recursion(struct pruning *p, uint32_t from, uint32_t to)
{
	p->left.n = 0;
	for (uint32_t i = from; i < to; i++)
		find_left_calls(p, p->order.funcs[i]);
	for (bool fewer = true; p->left.n && fewer;) {
		uint32_t n = 0, before = p->left.n;
		for (uint32_t i = 0; i < before; i += 2)
			p->calls_left[p->left.at[i]] = true;
		for (uint32_t i = 0; i < before; i += 2) {
			if (!p->calls_left[p->left.at[i + 1]])
				continue;
			p->left.at[n++] = p->left.at[i];
			p->left.at[n++] = p->left.at[i + 1];
		}
		for (uint32_t i = from; i < to; i++)
			p->calls_left[p->order.funcs[i]] = false;
		p->left.n = n;
		fewer = n < before;
		p->ch->steps += before;
	}
	return !p->left.n;
}

/* The same of all components that the trial has touched. */
static bool calls_show(struct pruning *p)
{
	uint32_t n = p->ch->prog->n_funcs;
	for (uint32_t i = 0, end; i < n; i = end) {
		bool any = false;
		end = component_end(p->ch, p->order, i);
		for (uint32_t k = i; k < end; k++)
			any |= p->before.has_sum[p->order.funcs[k]];
		if (any && !no_left_recursion(p, i, end))
			return false;
	}
	return true;
}

/* What unknown callees need has grown: looks at all calls that this could concern. */
static void look_at_unknown_calls(struct pruning *p)
{
	struct conflicts *ch = p->ch;
	for (uint32_t b = 0; b < ch->prog->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		bool unknown = block->call == CALL_UNKNOWN;
		unknown |= block->call == CALL_DIRECT && ch->sums[block->callee].need_global;
		if (unknown && block->flags & PROG_REACHED && !conflict_follow_holds(ch, b))
			p->dirty[block->func] = true;
	}
}

/* Whether in the end everything holds and costs less, once all dirty functions are mended. */
static bool settle_everywhere(struct pruning *p)
{
	struct conflicts *ch = p->ch;
	for (int round = 0; round < GLOBAL_ROUNDS_MAX; round++) {
		ch->global_grew = false;
		if (!settle_dirty(p) || ch->failed)
			return false;
		conflict_globalise(ch);
		if (!ch->global_grew)
			return p->gain > 0 && calls_show(p);
		look_at_unknown_calls(p);
	}
	return false;
}

/* Takes those marks of @c away that their own functions can do without; they stay away if the other
 * functions then hold as well. */
static void try_without(struct pruning *p, struct candidate *c, uint32_t n)
{
	struct conflicts *ch = p->ch;
	uint32_t tried = 0;
	if (ch->failed || ch->steps > p->limit)
		return;
	keep_all(p);
	memset(p->dirty, 0, ch->prog->n_funcs * sizeof(bool));
	memset(p->to_learn, 0, ch->prog->n_funcs * sizeof(bool));
	p->gain = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t func = ch->prog->blocks[c[i].block].func;
		c[i].mark = ch->marks[c[i].block];
		ch->marks[c[i].block] = MARK_NONE;
		if (c[i].mark && !conflict_function_holds(ch, func)) {
			ch->marks[c[i].block] = c[i].mark;
			c[i].mark = MARK_NONE;
		}
		if (!c[i].mark)
			continue;
		p->to_learn[func] = true;
		p->gain += c[i].cost;
		tried++;
	}
	bool stands = tried && settle_everywhere(p);
	end_trial(p, stands);
	if (stands)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (c[i].mark)
			ch->marks[c[i].block] = c[i].mark;
	if (tried <= 1)
		return;
	try_without(p, c, n / 2);
	try_without(p, c + n / 2, n - n / 2);
}

/* ---- which marks ---- */

static int dearer_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* Whether @func calls itself, by way of others or not. */
static bool recursive(const struct pruning *p, uint32_t func)
{
	uint32_t at = p->position[func], component = p->order.component[func];
	if (at && p->order.component[p->order.funcs[at - 1]] == component)
		return true;
	if (at + 1 < p->ch->prog->n_funcs &&
	    p->order.component[p->order.funcs[at + 1]] == component)
		return true;
	for (uint32_t i = p->order.callers_at[func]; i < p->order.callers_at[func + 1]; i++)
		if (p->order.callers[i] == func)
			return true;
	return false;
}

/* The marks that may be taken away: those of functions that call themselves or each other, without
 * those that no mode can do without. */
static struct candidate *find_candidates(struct pruning *p, uint32_t *n)
{
	struct conflicts *ch = p->ch;
	uint8_t *marks = ch->marks, *forced = calloc(ch->prog->n_blocks + 1, 1);
	struct candidate *c = calloc(ch->prog->n_blocks + 1, sizeof(*c));
	double whole = 0;
	*n = 0;
	if (!forced || !c) {
		free(forced);
		free(c);
		return NULL;
	}
	ch->marks = forced;
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++)
		force_function(ch, f);
	ch->marks = marks;
	for (uint32_t b = 0; b < ch->prog->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		const struct prog_func *f = &ch->prog->funcs[block->func];
		if (!marks[b])
			continue;
		float cost = marks[b] == MARK_BLOCK ? block->any.cost_ns : block->last.cost_ns;
		cost *= block->freq * f->freq;
		whole += cost;
		if (!forced[b] && !(f->flags & PROG_PATHS) && !ch->whole[block->func] &&
		    recursive(p, block->func))
			c[(*n)++] = (struct candidate){.block = b, .cost = cost};
	}
	free(forced);
	uint32_t worth = 0; /* of millions, some thousands are */
	for (uint32_t i = 0; i < *n; i++)
		if (!(c[i].cost < WORTH * whole))
			c[worth++] = c[i];
	*n = worth;
	qsort(c, worth, sizeof(*c), dearer_first);
	return c;
}

/* Computes the summaries of all components that have changed anew, without what is old in them:
 * that could hide that functions call each other without end and without an event. */
static void learn_anew(struct pruning *p)
{
	struct conflicts *ch = p->ch;
	for (uint32_t i = 0, end; i < ch->prog->n_funcs && !ch->failed; i = end) {
		bool any = false;
		end = component_end(ch, p->order, i);
		for (uint32_t k = i; k < end; k++)
			any |= p->changed[p->order.funcs[k]];
		for (uint32_t k = i; k < end && any; k++) {
			p->changed[p->order.funcs[k]] = true;
			struct summary *sum = &ch->sums[p->order.funcs[k]];
			terminal_set_free(&sum->first);
			terminal_set_free(&sum->need);
			*sum = (struct summary){0};
		}
		if (any)
			summarise_component(ch, p->order, i, end);
	}
}

/* What trials that stand have changed is to be checked again, and so is what depends on it. */
static void uncheck_changed(struct pruning *p)
{
	struct conflicts *ch = p->ch;
	const struct call_order *order = &p->order;
	bool any = false;
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++)
		any |= p->changed[f];
	for (uint32_t f = 0; f < ch->prog->n_funcs && any; f++) {
		if (p->changed[f] || calls_anything(ch, f))
			conflict_uncheck(ch, f);
		for (uint32_t c = order->callers_at[f];
		     p->changed[f] && c < order->callers_at[f + 1]; c++)
			conflict_uncheck(ch, order->callers[c]);
	}
}

void prune_recursive(struct conflicts *ch, struct call_order order)
{
	struct pruning p;
	uint32_t n = 0;
	struct candidate *c = NULL;
	if (pruning_init(&p, ch, order))
		c = find_candidates(&p, &n);
	ch->failed |= !c;
	for (uint32_t i = 0, some = 8; i < n;
	     i += some, some = some < TOGETHER_MAX ? 2 * some : some)
		try_without(&p, c + i, n - i < some ? n - i : some);
	if (c) {
		learn_anew(&p);
		uncheck_changed(&p);
	}
	free(c);
	pruning_deinit(&p);
}
