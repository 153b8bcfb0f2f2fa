// SPDX-License-Identifier: LGPL-2.1-or-later
/* freq_static.c: how often each block and function is likely to run, where no recording has
 * counted: branches halve, loops go round about eight times, ways that end in a call that never
 * returns are rare (Ball and Larus, "Branch prediction for free", PLDI 1993, for the idea). Blocks
 * are counted per activation of their function, functions per run. */
#include "offline/base/vec.h"
#include "offline/program/callgraph.h"
#include "offline/program/program.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LOOP_BACK 0.88f /* chance that a loop goes round once more */
#define RARE 0.02f	/* chance of a way that does not come back */
#define NOT_THE_CALL                                                                               \
	0.4f /* log of odds, as in branch_odds.c: the way with the call is taken less */
#define RETURN_IS_NEAR -0.35f /* and one that returns is more often what falls through */
#define ROUNDS 24
#define FREQ_MAX 1e12f

struct estimator {
	struct program *p;
	const float *branch_odds; /* per block, or NULL */
	uint32_t *rpo;		  /* blocks of one function, in reverse postorder */
	uint32_t n;
	uint32_t *position; /* per block: place in rpo */
	uint8_t *state;
	float *waiting; /* flow that has come to a block and not been sent on */
	bool *dead;	/* per block: every way from it ends in a call that never returns */
	struct vec_u32 stack;
};

static bool order_blocks(struct estimator *e, const struct prog_func *f)
{
	e->n = 0;
	e->stack.n = 0;
	for (uint32_t b = f->block + f->n_blocks; b-- > f->block;) {
		bool start = b == f->block || e->p->blocks[b].flags & PROG_ROOT;
		if (start && !VEC_PUSH(&e->stack, b))
			return false;
	}
	while (e->stack.n) {
		uint32_t b = e->stack.at[e->stack.n - 1];
		if (e->state[b]) {
			e->stack.n--;
			if (e->state[b] == 1)
				e->rpo[f->n_blocks - ++e->n] = b;
			e->state[b] = 2;
			continue;
		}
		e->state[b] = 1;
		for (uint32_t i = 0; i < e->p->blocks[b].n_succ; i++) {
			uint32_t to = prog_succs(e->p, b)[i];
			if (!e->state[to] && !VEC_PUSH(&e->stack, to))
				return false;
		}
	}
	for (uint32_t i = 0; i < e->n; i++)
		e->position[e->rpo[f->n_blocks - e->n + i]] = i;
	return true;
}

static void find_dead(struct estimator *e, const uint32_t *rpo)
{
	for (int round = 0; round < 3; round++)
		for (uint32_t i = e->n; i-- > 0;) {
			const struct prog_block *b = &e->p->blocks[rpo[i]];
			bool dead = b->flags & PROG_NORETURN ||
				    (!b->n_succ && !(b->flags & (PROG_RET | PROG_TAIL)));
			for (uint32_t k = 0; k < b->n_succ; k++) {
				dead = e->dead[prog_succs(e->p, rpo[i])[k]];
				if (!dead)
					break;
			}
			e->dead[rpo[i]] = dead;
		}
}

/* Whether on the way from block @to a call, or a return, certainly comes before the next branch. */
static void look_ahead(const struct estimator *e, uint32_t to, bool *calls, bool *returns)
{
	const struct prog_block *b = &e->p->blocks[to];
	for (int i = 0; i < 4 && b->call == CALL_NONE && b->n_succ == 1; i++)
		b = &e->p->blocks[e->p->succs[b->succ]];
	*calls = b->call != CALL_NONE;
	*returns = b->flags & PROG_RET;
}

/* How likely the way to @to[1] is beside that to @to[0]: log of the odds. */
static float taken_odds(const struct estimator *e, uint32_t block, const uint32_t *to)
{
	bool calls[2], returns[2];
	float odds = e->branch_odds ? e->branch_odds[block] : 0;
	for (int i = 0; i < 2; i++)
		look_ahead(e, to[i], &calls[i], &returns[i]);
	if (calls[0] != calls[1])
		odds += calls[0] ? NOT_THE_CALL : -NOT_THE_CALL;
	if (returns[0] != returns[1])
		odds += RETURN_IS_NEAR;
	return odds;
}

/* Sends @flow out of block @b, in the shares that its ways are likely to be taken. */
static void send_on(struct estimator *e, uint32_t b, float flow)
{
	const struct prog_block *block = &e->p->blocks[b];
	const uint32_t *to = prog_succs(e->p, b);
	bool loops = false, leaves = false;
	for (uint32_t i = 0; i < block->n_succ; i++) {
		bool back = e->position[to[i]] <= e->position[b];
		loops |= back;
		leaves |= !back;
	}
	float taken = 1, sum = 0;
	if (block->flags & PROG_BRANCH && !(loops && leaves))
		taken = expf(taken_odds(e, b, to));
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < block->n_succ; i++) {
			bool back = e->position[to[i]] <= e->position[b];
			float weight = e->dead[to[i]] ? RARE : 1;
			if (loops && leaves)
				weight *= back ? LOOP_BACK : 1 - LOOP_BACK;
			else if (i == 1)
				weight *= taken;
			if (!pass)
				sum += weight;
			else {
				e->p->chances[block->succ + i] = weight / sum;
				e->waiting[to[i]] += flow * weight / sum;
			}
		}
}

static int estimate_function(struct estimator *e, const struct prog_func *f)
{
	if (!f->n_blocks)
		return 0;
	if (!order_blocks(e, f))
		return -ENOMEM;
	const uint32_t *rpo = e->rpo + f->n_blocks - e->n;
	find_dead(e, rpo);
	for (uint32_t i = 0; i < e->n; i++) {
		e->p->blocks[rpo[i]].freq = 0;
		e->waiting[rpo[i]] = e->p->blocks[rpo[i]].flags & PROG_ROOT ? RARE : 0;
	}
	e->waiting[f->block] += 1;
	for (int round = 0; round < ROUNDS; round++) {
		bool more = false;
		for (uint32_t i = 0; i < e->n; i++) {
			struct prog_block *b = &e->p->blocks[rpo[i]];
			float flow = e->waiting[rpo[i]];
			if (flow <= 0)
				continue;
			e->waiting[rpo[i]] = 0;
			more |= flow > 0.02f * b->freq;
			b->freq += flow;
			send_on(e, rpo[i], flow);
		}
		if (!more)
			break;
	}
	return 0;
}

/* Estimates activations: a function that is known to be entered from outside is so once; then each
 * caller's calls are added, callers first. */
static int estimate_activations(struct program *p)
{
	uint32_t *order = calloc(2 * (size_t)p->n_funcs + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	uint32_t *component = order + p->n_funcs;
	int err = callgraph_order(p, order, component);
	for (uint32_t f = 0; f < p->n_funcs; f++)
		p->funcs[f].freq = (p->funcs[f].flags & (PROG_ENTRY_WITNESS | PROG_UNCALLED)) ==
						   PROG_ENTRY_WITNESS
					   ? 1
					   : 0.01f;
	for (uint32_t i = p->n_funcs; !err && i-- > 0;) {
		const struct prog_func *f = &p->funcs[order[i]];
		for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
			const struct prog_block *block = &p->blocks[b];
			if (block->call != CALL_DIRECT ||
			    component[block->callee] == component[order[i]])
				continue;
			float freq = p->funcs[block->callee].freq + f->freq * block->freq;
			p->funcs[block->callee].freq = freq < FREQ_MAX ? freq : FREQ_MAX;
		}
	}
	free(order);
	return err;
}

int program_estimate(struct program *p, const float *odds)
{
	struct estimator e = {.p = p, .branch_odds = odds};
	e.rpo = calloc(p->n_blocks + 1, sizeof(uint32_t));
	e.position = calloc(p->n_blocks + 1, sizeof(uint32_t));
	e.state = calloc(p->n_blocks + 1, 1);
	e.waiting = calloc(p->n_blocks + 1, sizeof(float));
	e.dead = calloc(p->n_blocks + 1, sizeof(bool));
	p->chances = calloc(p->n_succs + 1, sizeof(float));
	int err = e.rpo && e.position && e.state && e.waiting && e.dead && p->chances ? 0 : -ENOMEM;
	for (uint32_t f = 0; f < p->n_funcs && !err; f++)
		err = estimate_function(&e, &p->funcs[f]);
	free(e.rpo);
	free(e.position);
	free(e.state);
	free(e.waiting);
	free(e.dead);
	free(e.stack.at);
	return err ? err : estimate_activations(p);
}
