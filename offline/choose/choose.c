// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose.c: drives the choice: functions callees first, each mode's way of marking one function,
 * and then a check of the whole by the same conflict rule. */
#include "offline/choose/choose.h"

#include "offline/choose/choice.h"
#include "offline/choose/choose_forced.h"
#include "offline/choose/choose_modes.h"
#include "offline/choose/choose_recursive.h"
#include "offline/choose/choose_settle.h"
#include "offline/choose/choose_whole.h"
#include "offline/program/callgraph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
	bool marks_only; /* what does not hold in the end is not asked for */
	double limit_ns; /* what costs more is not wanted */
};

static void choose_component(struct conflicts *ch, struct call_order order, uint32_t from,
			     uint32_t to, const struct manner *how)
{
	const uint32_t *funcs = order.funcs;
	for (uint32_t i = from; i < to; i++) {
		force_function(ch, funcs[i]);
		bool seeded = how->seed && !how->seed->anew[funcs[i]];
		choose_bounded(ch, funcs[i], how->choose, seeded ? how->seed->marks : NULL);
		if (how->choose == choose_casper) {
			/* its callers are chosen for next, and their marks depend on what it
			 * shows */
			ch->sums[funcs[i]].known = true;
			conflict_summarise(ch, funcs[i]);
		}
	}
	summarise_component(ch, order, from, to);
}

static void leave_unresolved(struct conflicts *ch, uint32_t block,
			     enum pugmark_plan_unresolved_kind kind, bool entry)
{
	if (!VEC_PUSH(&ch->unresolved, block) || !VEC_PUSH(&ch->unresolved, kind) ||
	    !VEC_PUSH(&ch->unresolved, entry))
		ch->failed = true;
}

/* @holds: all decisions of its function do. */
static void find_unresolved_at(struct conflicts *ch, uint32_t block, bool holds)
{
	int missing = forced_missing(ch, block);
	if (missing >= 0)
		leave_unresolved(ch, block, missing, missing == PUGMARK_UNRESOLVED_ENTRY);
	bool look = !holds && conflict_is_node(ch, block);
	uint32_t after = look ? conflict_faults_after(ch, block) : 0;
	for (uint32_t kind = 0; kind < PUGMARK_UNRESOLVED_KINDS; kind++)
		if (after >> kind & 1)
			leave_unresolved(ch, block, kind, false);
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
		bool holds = conflict_known_to_hold(ch, f);
		conflict_begin(ch, f);
		if (holds)
			conflict_note_checked(ch, f);
		else
			holds = conflict_decision_holds(
				ch, (struct decision){f, PUGMARK_NONE, WAY_ALL});
		conflict_end(ch);
		/* How often a function called itself in silence only frames could tell. */
		if (!holds || left[f])
			leave_unresolved(ch, func->block, PUGMARK_UNRESOLVED_WAY, true);
		if (func->flags & PROG_ENTRY_WITNESS)
			ch->capture_ret[func->block] = true;
	}
	free(left);
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++) {
		const struct prog_func *func = &ch->prog->funcs[f];
		conflict_begin(ch, f);
		conflict_keep(ch, f);
		for (uint32_t b = func->block; b < func->block + func->n_blocks; b++)
			if (ch->prog->blocks[b].flags & PROG_REACHED)
				find_unresolved_at(ch, b, conflict_known_to_hold(ch, f));
		conflict_keep_nothing(ch);
		conflict_end(ch);
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

/* When all functions are known, choosing for them again is taken to save half at most: what costs
 * over twice the limit is given up, counting in what the functions that are left cost at least. */
#define SETTLING_SAVES 2

/* Returns whether the choice is of use: it costs no more than the limit. */
static bool choose_in_order(struct conflicts *ch, const struct manner *how, struct call_order order,
			    uint32_t *unresolved)
{
	double cost = 0, entries_left = 0;
	uint64_t n_blocks = 0;
	for (uint32_t f = 0; f < ch->prog->n_funcs; f++)
		entries_left += forced_entry_cost(ch, f);
	for (uint32_t i = 0, end; i < ch->prog->n_funcs && !ch->failed; i = end) {
		end = component_end(ch, order, i);
		for (uint32_t k = i; k < end; k++)
			n_blocks += ch->prog->funcs[order.funcs[k]].n_blocks;
		choose_component(ch, order, i, end, how);
		if (ch->prog->told && ch->prog->n_blocks)
			ch->prog->told(ch->prog->told_ctx,
				       PART_CHOSEN * (double)n_blocks / ch->prog->n_blocks);
		for (uint32_t k = i; k < end; k++) {
			cost += choice_function_cost(ch->prog, ch->marks, order.funcs[k]);
			entries_left -= forced_entry_cost(ch, order.funcs[k]);
		}
		if (cost / SETTLING_SAVES + entries_left > how->limit_ns)
			return false;
	}
	conflict_globalise(ch);
	settle(ch, how->choose, order);
	if (how->choose == choose_best && !how->seed)
		prune_recursive(ch, order);
	if (!how->marks_only)
		find_unresolved(ch, order);
	if (ch->plain && ch->unresolved.n) {
		ch->some_empty = true;
		summarise_anew(ch, order);
		find_unresolved(ch, order);
	}
	*unresolved = ch->unresolved.n / 3;
	return choice_cost(ch->prog, &(struct choice){.marks = ch->marks}) <= how->limit_ns;
}

struct choosing {
	struct conflicts ch;
	struct call_order calls;
	uint32_t *order, *callers; /* where those are: heap */
	bool begun;		   /* there was a choice */
};

void choosing_free(struct choosing *c)
{
	if (!c)
		return;
	free(c->callers);
	free(c->order);
	conflict_deinit(&c->ch);
	free(c);
}

int choosing_new(const struct program *program, struct choosing **out)
{
	struct choosing *c = calloc(1, sizeof(*c));
	int err = c ? conflict_init(&c->ch, program) : -ENOMEM;
	if (err) {
		free(c);
		return err;
	}
	c->order = calloc(3 * (size_t)program->n_funcs + 2, sizeof(*c->order));
	uint32_t *component = c->order ? c->order + program->n_funcs : NULL;
	uint32_t *callers_at = c->order ? component + program->n_funcs : NULL;
	err = c->order ? callgraph_order(program, c->order, component) : -ENOMEM;
	if (!err)
		err = callgraph_callers(program, callers_at, &c->callers);
	c->calls = (struct call_order){c->order, component, callers_at, c->callers};
	if (err)
		choosing_free(c);
	else
		*out = c;
	return err;
}

/* Returns 0, and a choice, or -ECANCELED: it would cost more than wanted. */
static int choose(struct choosing *c, const struct manner *how, struct choice *out,
		  uint32_t *unresolved)
{
	struct conflicts *ch = &c->ch;
	int err = c->begun ? conflict_restart(ch) : 0;
	if (err)
		return err;
	c->begun = true;
	ch->returns_apart = how->returns_apart;
	ch->plain = how->plain;
	ch->given = how->given;
	if (isfinite(how->limit_ns))
		ch->work_spare /= 4;
	err = choose_in_order(ch, how, c->calls, unresolved) ? 0 : -ECANCELED;
	if (ch->failed)
		err = -ENOMEM;
	struct choice choice = {
		.marks = ch->marks,
		.capture_ret = ch->capture_ret,
		.returns_apart = ch->returns_apart,
		.whole = ch->whole,
		.steps = ch->steps,
	};
	if (!err)
		err = take_unresolved(ch, &choice);
	if (!err) {
		*out = choice;
		ch->marks = NULL;
		ch->capture_ret = NULL;
		ch->whole = NULL;
	}
	return err;
}

/* The only choice for a program. */
static int choose_once(const struct program *program, const struct manner *how, struct choice *out,
		       uint32_t *unresolved)
{
	struct choosing *c = NULL;
	int err = choosing_new(program, &c);
	if (!err)
		err = choose(c, how, out, unresolved);
	choosing_free(c);
	return err;
}

/* Takes what @how chooses for @out if that is cheaper, and leaves no more unresolved. */
static int choose_cheaper(struct choosing *c, struct manner how, struct choice *out,
			  uint32_t *unresolved)
{
	struct choice other;
	uint32_t left;
	const struct program *program = c->ch.prog;
	double cost = choice_cost(program, out);
	how.limit_ns = cost;
	int err = choose(c, &how, &other, &left);
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

/* Mode best is never dearer than mode casper: where casper costs less in all, its marks are taken,
 * less those that enriched terminals make needless. That happens where most functions may be
 * entered from anywhere and their ends cost little: casper marks the ends, so that little has to be
 * told inside. */
static int casper_if_cheaper(struct choosing *c, struct choice *out, uint32_t *unresolved)
{
	const struct program *program = c->ch.prog;
	struct manner how = {.choose = by_mode[MODE_CASPER], .returns_apart = true, .plain = true};
	const uint8_t *before = out->marks;
	int err = choose_cheaper(c, how, out, unresolved);
	if (err || out->marks == before)
		return err;
	bool *anew = calloc(program->n_funcs + 1, sizeof(*anew));
	uint8_t *marks = malloc(program->n_blocks + 1);
	struct choice_seed seed = {marks, anew};
	err = anew && marks ? 0 : -ENOMEM;
	if (!err) {
		memcpy(marks, out->marks, program->n_blocks);
		how = (struct manner){.choose = choose_best, .seed = &seed, .returns_apart = true};
		err = choose_cheaper(c, how, out, unresolved);
	}
	free(anew);
	free(marks);
	return err;
}

int choose_witnesses_on(struct choosing *c, enum plan_mode mode, bool returns_apart,
			struct choice *out, uint32_t *unresolved)
{
	struct manner how = {
		.choose = by_mode[mode],
		.returns_apart = returns_apart || mode < MODE_BEST,
		.plain = mode < MODE_BEST,
		.limit_ns = INFINITY,
	};
	int err = choose(c, &how, out, unresolved);
	if (mode == MODE_BEST && !err) {
		err = casper_if_cheaper(c, out, unresolved);
		if (err)
			choice_deinit(out);
	}
	return err ? err : *unresolved ? -EDOM : 0;
}

int choose_witnesses(const struct program *program, enum plan_mode mode, struct choice *out,
		     uint32_t *unresolved)
{
	struct choosing *c = NULL;
	int err = choosing_new(program, &c);
	if (!err)
		err = choose_witnesses_on(c, mode, false, out, unresolved);
	choosing_free(c);
	return err;
}

int choose_full_marks(struct choosing *c, struct choice *out)
{
	struct manner how = {
		.choose = choose_full,
		.returns_apart = true,
		.plain = true,
		.marks_only = true,
		.limit_ns = INFINITY,
	};
	uint32_t unresolved;
	return choose(c, &how, out, &unresolved);
}

int choose_witnesses_seeded(const struct program *program, const struct choice_seed *seed,
			    struct choice *out, uint32_t *unresolved)
{
	struct manner how = {.choose = choose_best, .seed = seed, .limit_ns = INFINITY};
	int err = choose_once(program, &how, out, unresolved);
	return err ? err : *unresolved ? -EDOM : 0;
}

int choose_witnesses_given(const struct program *program, const uint8_t *given, struct choice *out,
			   uint32_t *unresolved)
{
	struct manner how = {.choose = choose_nothing, .given = given, .limit_ns = INFINITY};
	int err = choose_once(program, &how, out, unresolved);
	return err ? err : *unresolved ? -EDOM : 0;
}
