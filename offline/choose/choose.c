// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose.c: drives the choice: functions callees first, each mode's way of marking one function,
 * and then a check of the whole by the same conflict rule. */
#include "offline/choose/choose.h"

#include "offline/choose/choose_modes.h"
#include "offline/choose/choose_prune.h"
#include "offline/choose/choose_settle.h"
#include "offline/program/callgraph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool probeable(const struct prog_probe *probe)
{
	return isfinite(probe->cost_ns);
}

/* Whether the jcc at the block's end can be what is probed, at no more cost: then the event tells
 * the way it goes as well. */
static bool shows_way(const struct prog_block *b)
{
	return b->flags & PROG_BRANCH && probeable(&b->last) && b->last.cost_ns <= b->any.cost_ns &&
	       (b->last.cfa_known || !b->any.cfa_known);
}

static void force(struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	if (b->flags & PROG_OPEN && probeable(&b->last))
		ch->marks[block] = MARK_TARGET;
	else if (!ch->plain && shows_way(b))
		ch->marks[block] = MARK_BRANCH;
	else if (probeable(&b->any))
		ch->marks[block] = MARK_BLOCK;
}

/* A callee whose frame lies at an unknown height below its caller's: the call itself must say
 * where, or no depth inside of the callee could be told. */
static bool hides_height(const struct prog_block *b)
{
	return b->call != CALL_LEAF && b->call != CALL_NONE &&
	       b->height == PUGMARK_HEIGHT_UNKNOWN && !(b->flags & PROG_TAIL);
}

/* Where such a jump goes cannot be told from what foreign code does next. */
static bool jumps_anywhere(const struct conflicts *ch, const struct prog_block *b)
{
	return b->call == CALL_UNKNOWN && b->flags & PROG_TAIL &&
	       b->flags & (PROG_INDIRECT | PROG_STRAY) &&
	       ch->prog->funcs[b->func].flags & PROG_ENTERED_TAIL;
}

/* What comes before a block that is also entered by unwinding: with a witness there, that the block
 * runs without it before is unwinding. */
static bool leads_to_root(const struct conflicts *ch, const struct prog_block *b, uint32_t block)
{
	for (uint32_t i = 0; i < b->n_succ; i++)
		if (ch->prog->blocks[prog_succs(ch->prog, block)[i]].flags & PROG_ROOT)
			return true;
	return false;
}

/* Whether a call of @b's callee shows as soon as it goes on: then a jump there that never comes
 * back shows as well. What stops in the callee shows by the callee's marks. */
static bool callee_shows(const struct conflicts *ch, const struct prog_block *b)
{
	const struct summary *sum = &ch->sums[b->callee];
	return b->call == CALL_DIRECT && sum->known && !sum->nullable &&
	       (sum->first.n || sum->first.top);
}

/* A way of a jump that leaves the function has no instruction of its own: the jump is to say that
 * it goes there, where nothing else does. */
static bool wants_jump(const struct conflicts *ch, const struct prog_block *b)
{
	return b->flags & PROG_VIRTUAL &&
	       (jumps_anywhere(ch, b) || (b->flags & PROG_NORETURN && !callee_shows(ch, b)));
}

/* The mark by which the jump at the end of @b says where it goes. */
static uint8_t way_mark(const struct prog_block *b)
{
	if (!probeable(&b->last) || b->flags & (PROG_READ | PROG_READ_CALL))
		return MARK_NONE;
	return b->flags & PROG_BRANCH ? MARK_BRANCH : prog_jump_read(b) ? MARK_TARGET : MARK_NONE;
}

static void force_jump(struct conflicts *ch, uint32_t block)
{
	for (uint32_t i = ch->pred_at[block]; i < ch->pred_at[block + 1]; i++) {
		const struct prog_block *from = &ch->prog->blocks[ch->preds[i]];
		bool entry = ch->hops[ch->preds[i]].flags & HOP_ENTRY || from->flags & PROG_ROOT;
		if (way_mark(from) && (!entry || from->last.cfa_known))
			ch->marks[ch->preds[i]] = way_mark(from);
	}
}

/* Whether each jump that leads to @block says so. */
static bool jump_shows(const struct conflicts *ch, uint32_t block)
{
	for (uint32_t i = ch->pred_at[block]; i < ch->pred_at[block + 1]; i++)
		if (ch->marks[ch->preds[i]] != way_mark(&ch->prog->blocks[ch->preds[i]]))
			return false;
	return true;
}

/* Marks that no mode can do without: entries that no direct call announces, what the unwinder
 * enters, jumps whose targets are not known, calls at an unknown height, calls that fork or execute
 * (what the child does begins and ends there) or go on on another stack, (at next to no cost) calls
 * that do not return, and where values are to be read. */
void force_function(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (f->n_blocks && f->flags & PROG_ENTRY_WITNESS)
		force(ch, f->block);
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (!(block->flags & PROG_REACHED))
			continue;
		if (wants_jump(ch, block))
			force_jump(ch, b);
		else if (jumps_anywhere(ch, block) && probeable(&block->last))
			ch->marks[b] = block->flags & PROG_STRAY ? MARK_LAST : MARK_TARGET;
		else if ((hides_height(block) || block->flags & PROG_READ_CALL) &&
			 probeable(&block->last))
			ch->marks[b] = MARK_LAST;
		else if (block->flags & (PROG_ROOT | PROG_OPEN | PROG_NORETURN | PROG_FORKS |
					 PROG_READ | PROG_SWITCHES) ||
			 leads_to_root(ch, block, b))
			force(ch, b);
	}
	for (uint32_t b = f->block; ch->given && b < f->block + f->n_blocks; b++)
		if (!ch->marks[b])
			ch->marks[b] = ch->given[b];
}

void choose_full(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (ch->marks[b] || !(block->flags & PROG_REACHED))
			continue;
		if ((block->call != CALL_NONE || block->flags & PROG_RET) &&
		    probeable(&block->last))
			ch->marks[b] = MARK_LAST;
		/* a tail jump that is a jcc shows by its direction */
		for (uint32_t i = 0; i < block->n_succ && block->flags & PROG_BRANCH; i++)
			if (ch->prog->blocks[prog_succs(ch->prog, b)[i]].flags & PROG_VIRTUAL)
				ch->marks[b] = MARK_BRANCH;
	}
}

/* Marks every alternative of a decision between several. */
static void mark_targets(struct conflicts *ch, struct decision d)
{
	conflict_alternatives(ch, d, &ch->alts);
	for (uint32_t i = 0; i < ch->alts.n && ch->alts.n > 1; i++) {
		uint32_t b = ch->alts.at[i];
		if (b == NODE_EXIT || ch->marks[b])
			continue;
		if (probeable(&ch->prog->blocks[b].last))
			ch->marks[b] = MARK_LAST;
		else if (ch->prog->blocks[b].flags & PROG_VIRTUAL)
			for (uint32_t p = ch->pred_at[b]; p < ch->pred_at[b + 1]; p++)
				if (ch->prog->blocks[ch->preds[p]].flags & PROG_BRANCH)
					ch->marks[ch->preds[p]] = MARK_BRANCH;
	}
}

void choose_branch(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks)
		return;
	mark_targets(ch, (struct decision){func, PUGMARK_NONE, WAY_ALL});
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		if ((ch->prog->blocks[b].flags & PROG_REACHED) && conflict_is_node(ch, b))
			mark_targets(ch, (struct decision){func, b, WAY_ALL});
	/* Loops without a way out are no decision, yet each round must show. */
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		if (ch->prog->blocks[b].call != CALL_NONE && !conflict_progress_holds(ch, b) &&
		    probeable(&ch->prog->blocks[b].last))
			ch->marks[b] = MARK_LAST;
}

static choose_function *const by_mode[] = {
	[MODE_FULL] = choose_full,	     [MODE_BRANCH] = choose_branch,
	[MODE_CASPER] = choose_casper,	     [MODE_BEST] = choose_best,
	[MODE_PATHS_BLOCKS] = choose_blocks, [MODE_PATHS_TARGETS] = choose_targets,
	[MODE_PATHS_EDGES] = choose_edges,   [MODE_PATHS_NODES] = choose_nodes,
	[MODE_PATHS_BEST] = choose_best,
};

/* With marks that are given, nothing is left to choose. */
static void choose_nothing(struct conflicts *ch, uint32_t func)
{
	(void)ch;
	(void)func;
}

/* How all functions are chosen for. */
struct manner {
	choose_function *choose;
	const uint8_t *given;		/* NULL: no mark is */
	const struct choice_seed *seed; /* NULL: from nothing */
	bool returns_apart, plain;
	double limit_ns; /* what costs more is not wanted */
};

double choice_function_cost(const struct program *prog, const uint8_t *marks, uint32_t func)
{
	const struct prog_func *f = &prog->funcs[func];
	double cost = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct prog_block *b = &prog->blocks[i];
		if (marks[i])
			cost += (double)b->freq * f->freq *
				(marks[i] == MARK_BLOCK ? b->any.cost_ns : b->last.cost_ns);
	}
	return cost;
}

double choice_cost(const struct program *prog, const struct choice *choice)
{
	double cost = 0;
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		cost += choice_function_cost(prog, choice->marks, f);
	return cost;
}

static void choose_component(struct conflicts *ch, const uint32_t *funcs, uint32_t n,
			     const struct manner *how)
{
	for (uint32_t i = 0; i < n; i++) {
		force_function(ch, funcs[i]);
		if (how->seed && !how->seed->anew[funcs[i]])
			choose_seeded(ch, funcs[i], how->seed->marks);
		else
			how->choose(ch, funcs[i]);
		if (how->choose == choose_casper) {
			/* those that call it are chosen for next: what calls it before is marked */
			ch->sums[funcs[i]].known = true;
			conflict_summarise(ch, funcs[i]);
		}
	}
	summarise_component(ch, funcs, n);
}

/* What is missing where a witness that no mode can do without is not there, or cannot say which
 * frame it is in: enum pugmark_plan_unresolved_kind; or -1. */
static int missing_at(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	uint8_t mark = ch->marks[block];
	const struct prog_func *f = &ch->prog->funcs[b->func];
	bool entry = f->flags & PROG_ENTRY_WITNESS && f->block == block;
	if (entry && (!mark || (mark != MARK_BLOCK && !b->last.cfa_known)))
		return PUGMARK_UNRESOLVED_ENTRY;
	if (b->flags & PROG_ROOT &&
	    (!mark || !(mark == MARK_BLOCK ? b->any.cfa_known : b->last.cfa_known)))
		return PUGMARK_UNRESOLVED_LANDING;
	if (b->flags & PROG_VIRTUAL) {
		bool told =
			!wants_jump(ch, b) || (jump_shows(ch, block) && !(b->flags & PROG_STRAY));
		return told		       ? -1
		       : jumps_anywhere(ch, b) ? PUGMARK_UNRESOLVED_JUMP
					       : PUGMARK_UNRESOLVED_STOP;
	}
	if (jumps_anywhere(ch, b) || b->flags & PROG_OPEN)
		return mark != MARK_TARGET ? PUGMARK_UNRESOLVED_JUMP : -1;
	if (hides_height(b))
		return mark != MARK_LAST && mark != MARK_TARGET ? PUGMARK_UNRESOLVED_FRAME : -1;
	if (!mark && leads_to_root(ch, b, block))
		return PUGMARK_UNRESOLVED_LANDING;
	return !mark && b->flags & (PROG_NORETURN | PROG_SWITCHES) ? PUGMARK_UNRESOLVED_STOP : -1;
}

static void leave_unresolved(struct conflicts *ch, uint32_t block,
			     enum pugmark_plan_unresolved_kind kind, bool entry)
{
	if (!VEC_PUSH(&ch->unresolved, block) || !VEC_PUSH(&ch->unresolved, kind) ||
	    !VEC_PUSH(&ch->unresolved, entry))
		ch->failed = true;
}

/* What does not hold in the end. */
static void find_unresolved(struct conflicts *ch, struct call_order order)
{
	bool *left = calloc(ch->prog->n_funcs + 1, sizeof(*left));
	if (!left) {
		ch->failed = true;
		return;
	}
	conflict_left_recursion(ch, order.funcs, left);
	ch->unresolved.n = 0;
	ch->note_rets = true;
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++) {
		const struct prog_func *func = &ch->prog->funcs[f];
		if (!func->n_blocks)
			continue;
		/* Of a function that calls itself in silence, how often is told by frames alone. */
		if (!conflict_decision_holds(ch, (struct decision){f, PUGMARK_NONE, WAY_ALL}) ||
		    left[f])
			leave_unresolved(ch, func->block, PUGMARK_UNRESOLVED_WAY, true);
		if (func->flags & PROG_ENTRY_WITNESS)
			ch->capture_ret[func->block] = true;
	}
	free(left);
	for (uint32_t b = 0; b < ch->prog->n_blocks; b++) {
		const struct prog_block *block = &ch->prog->blocks[b];
		if (!(block->flags & PROG_REACHED))
			continue;
		int missing = missing_at(ch, b);
		if (missing >= 0)
			leave_unresolved(ch, b, missing, missing == PUGMARK_UNRESOLVED_ENTRY);
		uint32_t after = conflict_is_node(ch, b) ? conflict_faults_after(ch, b) : 0;
		for (uint32_t kind = 0; kind < PUGMARK_UNRESOLVED_KINDS; kind++)
			if (after >> kind & 1)
				leave_unresolved(ch, b, kind, false);
	}
}

static int take_unresolved(const struct conflicts *ch, struct choice *out)
{
	const uint32_t *at = ch->unresolved.at;
	uint32_t n = ch->unresolved.n / 3;
	out->unresolved = calloc(n + 1, sizeof(*out->unresolved));
	if (!out->unresolved)
		return -ENOMEM;
	out->n_unresolved = n;
	for (uint32_t i = 0; i < n; i++)
		out->unresolved[i] =
			(struct choice_unresolved){at[3 * i], at[3 * i + 1], at[3 * i + 2]};
	return 0;
}

/* What is chosen for a function when all are known may be less than before, but not much. */
#define SETTLING_SAVES 2

/* Returns whether the choice is of use: it costs no more than the limit. */
static bool choose_in_order(struct conflicts *ch, const struct manner *how, struct call_order order,
			    uint32_t *unresolved)
{
	double cost = 0;
	for (uint32_t i = 0, end; i < ch->prog->n_funcs && !ch->failed; i = end) {
		end = component_end(ch, order, i);
		choose_component(ch, order.funcs + i, end - i, how);
		for (uint32_t k = i; k < end; k++)
			cost += choice_function_cost(ch->prog, ch->marks, order.funcs[k]);
		if (cost > SETTLING_SAVES * how->limit_ns)
			return false;
	}
	conflict_globalise(ch);
	settle(ch, how->choose, order);
	if (how->choose == choose_best && !how->seed)
		prune(ch, order);
	find_unresolved(ch, order);
	if (ch->plain && ch->unresolved.n) {
		ch->some_empty = true;
		summarise_anew(ch, order);
		find_unresolved(ch, order);
	}
	*unresolved = ch->unresolved.n / 3;
	return choice_cost(ch->prog, &(struct choice){.marks = ch->marks}) <= how->limit_ns;
}

/* 0, and a choice, or -ECANCELED: it would cost more than wanted. */
static int choose(const struct program *program, const struct manner *how, struct choice *out,
		  uint32_t *unresolved)
{
	struct conflicts ch;
	int err = conflict_init(&ch, program);
	if (err)
		return err;
	uint32_t *order = calloc(2 * (size_t)program->n_funcs + 1, sizeof(*order));
	if (!order) {
		conflict_deinit(&ch);
		return -ENOMEM;
	}
	uint32_t *component = order + program->n_funcs;
	ch.returns_apart = how->returns_apart;
	ch.plain = how->plain;
	ch.given = how->given;
	err = callgraph_order(program, order, component);
	if (!err && !choose_in_order(&ch, how, (struct call_order){order, component}, unresolved))
		err = -ECANCELED;
	if (ch.failed)
		err = -ENOMEM;
	struct choice choice = {
		.marks = ch.marks,
		.capture_ret = ch.capture_ret,
		.returns_apart = ch.returns_apart,
		.steps = ch.steps,
	};
	if (!err)
		err = take_unresolved(&ch, &choice);
	if (!err) {
		*out = choice;
		ch.marks = NULL;
		ch.capture_ret = NULL;
	}
	free(order);
	conflict_deinit(&ch);
	return err;
}

/* Takes what @how chooses for @out if that is cheaper, and leaves no more unresolved. */
static int choose_cheaper(const struct program *program, struct manner how, struct choice *out,
			  uint32_t *unresolved)
{
	struct choice other;
	uint32_t left;
	double cost = choice_cost(program, out);
	how.limit_ns = cost;
	int err = choose(program, &how, &other, &left);
	if (err == -ECANCELED)
		return 0;
	if (err)
		return err;
	bool better = left <= *unresolved && choice_cost(program, &other) < cost;
	if (better) {
		*unresolved = left;
		choice_deinit(out);
		*out = other;
	} else {
		choice_deinit(&other);
	}
	return 0;
}

/* Mode best is never dearer than mode casper: where that is cheaper in all, it is taken, less what
 * enriched terminals make needless. It is where most functions may be entered from anywhere and
 * their ends cost little: casper shows the ends, so that little has to be told inside. */
static int casper_if_cheaper(const struct program *program, struct choice *out,
			     uint32_t *unresolved)
{
	struct manner how = {.choose = by_mode[MODE_CASPER], .returns_apart = true, .plain = true};
	const uint8_t *before = out->marks;
	int err = choose_cheaper(program, how, out, unresolved);
	if (err || out->marks == before)
		return err;
	bool *anew = calloc(program->n_funcs + 1, sizeof(*anew));
	uint8_t *marks = malloc(program->n_blocks + 1);
	struct choice_seed seed = {marks, anew};
	err = anew && marks ? 0 : -ENOMEM;
	if (!err) {
		memcpy(marks, out->marks, program->n_blocks);
		how = (struct manner){.choose = choose_best, .seed = &seed, .returns_apart = true};
		err = choose_cheaper(program, how, out, unresolved);
	}
	free(anew);
	free(marks);
	return err;
}

static int choose_mode(const struct program *program, enum plan_mode mode, bool returns_apart,
		       struct choice *out, uint32_t *unresolved)
{
	struct manner how = {
		.choose = by_mode[mode],
		.returns_apart = returns_apart,
		.plain = mode < MODE_BEST,
		.limit_ns = INFINITY,
	};
	int err = choose(program, &how, out, unresolved);
	if (mode == MODE_BEST && !err) {
		err = casper_if_cheaper(program, out, unresolved);
		if (err)
			choice_deinit(out);
	}
	return err ? err : *unresolved ? -EDOM : 0;
}

int choose_witnesses(const struct program *program, enum plan_mode mode, struct choice *out,
		     uint32_t *unresolved)
{
	return choose_mode(program, mode, mode < MODE_BEST, out, unresolved);
}

int choose_witnesses_returns_apart(const struct program *program, enum plan_mode mode,
				   struct choice *out, uint32_t *unresolved)
{
	return choose_mode(program, mode, true, out, unresolved);
}

int choose_witnesses_seeded(const struct program *program, const struct choice_seed *seed,
			    struct choice *out, uint32_t *unresolved)
{
	struct manner how = {.choose = choose_best, .seed = seed, .limit_ns = INFINITY};
	int err = choose(program, &how, out, unresolved);
	return err ? err : *unresolved ? -EDOM : 0;
}

int choose_witnesses_given(const struct program *program, const uint8_t *given, struct choice *out,
			   uint32_t *unresolved)
{
	struct manner how = {.choose = choose_nothing, .given = given, .limit_ns = INFINITY};
	int err = choose(program, &how, out, unresolved);
	return err ? err : *unresolved ? -EDOM : 0;
}

void choice_deinit(struct choice *choice)
{
	free(choice->marks);
	free(choice->capture_ret);
	free(choice->unresolved);
	*choice = (struct choice){0};
}
