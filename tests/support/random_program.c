// SPDX-License-Identifier: LGPL-2.1-or-later
/* random_program.c: see random_program.h. Blocks are laid out 64 bytes apart; a call's instruction
 * is at 32, and it returns to 37.
 *
 * What no compiler makes is left out: a function that is entered from anywhere knows its frame
 * there, as does what the unwinder lands in; and where an entry would need two witnesses (one that
 * it runs, one for the call or jump at its end), it would have been split in two. */
#include "tests/support/random_program.h"

#include <math.h>
#include <stdlib.h>

struct shape {
	uint32_t funcs_min, funcs_max, blocks_min, blocks_max; /* inclusive */
	uint32_t entered, direct, unknown, leaf, tail;	       /* percent of functions and blocks */
	bool recursive;
};

/* The first is picked half of the time. */
static const struct shape shapes[] = {
	{1, 7, 1, 13, 30, 40, 10, 10, 6, true},	 /* small, all of everything */
	{2, 7, 1, 13, 20, 40, 10, 10, 6, false}, /* without direct recursion */
	{2, 6, 1, 8, 50, 45, 25, 2, 3, true},	 /* callbacks in callbacks */
	{3, 9, 1, 6, 15, 55, 20, 5, 12, false},	 /* silent chains below callbacks */
	{1, 3, 50, 200, 10, 25, 4, 10, 3, true}, /* large functions */
	{20, 50, 1, 10, 15, 35, 5, 10, 6, true}, /* many functions */
	{1, 4, 1, 10, 20, 50, 2, 3, 2, true},	 /* deep recursion */
};
#define N_SHAPES (sizeof(shapes) / sizeof(*shapes))

struct maker {
	uint64_t rng;
	const struct shape *shape;
	struct program *p;
	uint32_t cap_succs;
	uint32_t base, n; /* of the function that is made, without its virtual blocks */
	bool *pad;	  /* per block of it: a landing pad, or where setjmp returns a second
			     time: nothing jumps there, nor falls, but for that setjmp */
};

static uint32_t between(struct maker *m, uint32_t lo, uint32_t hi)
{
	return lo + random_below(&m->rng, hi - lo + 1);
}

static struct prog_probe random_probe(struct maker *m, uint64_t addr, uint32_t unprobeable)
{
	struct prog_probe probe = {.off = (uint32_t)addr};
	probe.cost_ns = random_chance(&m->rng, unprobeable) ? INFINITY
			: random_chance(&m->rng, 60)	    ? 600
							    : 6500;
	probe.cfa_known = random_chance(&m->rng, 95);
	return probe;
}

static void add_succ(struct maker *m, uint32_t block, uint32_t to)
{
	if (m->p->n_succs == m->cap_succs) {
		m->cap_succs = m->cap_succs ? 2 * m->cap_succs : 256;
		m->p->succs = realloc(m->p->succs, m->cap_succs * sizeof(uint32_t));
	}
	m->p->succs[m->p->n_succs++] = to;
	m->p->blocks[block].n_succ++;
}

static int32_t random_height(struct maker *m)
{
	static const int32_t heights[] = {16, 32, 48};
	return random_chance(&m->rng, 5) ? PUGMARK_HEIGHT_UNKNOWN
					 : heights[random_below(&m->rng, 3)];
}

/* A callee: any function, or one of those after @func. */
static uint32_t random_callee(struct maker *m, uint32_t func)
{
	uint32_t n = m->p->n_funcs;
	if (m->shape->recursive || func + 1 == n)
		return random_below(&m->rng, n);
	return func + 1 + random_below(&m->rng, n - func - 1);
}

static void make_call(struct maker *m, struct prog_block *b)
{
	const struct shape *s = m->shape;
	uint32_t roll = random_below(&m->rng, 100);
	if (roll >= s->direct + s->unknown + s->leaf)
		return;
	b->call = roll < s->direct		  ? CALL_DIRECT
		  : roll < s->direct + s->unknown ? CALL_UNKNOWN
						  : CALL_LEAF;
	b->callee = random_callee(m, b->func);
	if (!m->shape->recursive && b->callee <= b->func)
		b->call = CALL_LEAF;
	b->height = random_height(m);
	if (b->call == CALL_UNKNOWN && random_chance(&m->rng, 70))
		b->flags |= PROG_INDIRECT;
	if (random_chance(&m->rng, 4) && b->call != CALL_DIRECT)
		b->flags |= PROG_NORETURN;
}

/* A block that normal control flow can reach. */
static uint32_t random_target(struct maker *m)
{
	uint32_t i = random_below(&m->rng, m->n);
	while (m->pad[i])
		i = (i + 1) % m->n;
	return m->base + i;
}

static uint32_t next_block(struct maker *m, uint32_t i)
{
	while (++i < m->n && m->pad[i])
		;
	return i < m->n ? m->base + i : random_target(m);
}

/* A way of the jump in @block that leaves the function: a block of its own, to where nothing knows
 * as yet. */
static uint32_t make_way_out(struct maker *m, uint32_t block)
{
	struct program *p = m->p;
	uint32_t index = p->n_blocks++;
	struct prog_block *v = &p->blocks[index];
	*v = (struct prog_block){
		.func = p->blocks[block].func,
		.addr = p->blocks[block].addr + 32,
		.call_off = 0,
		.origin = PUGMARK_NONE,
		.site = PUGMARK_NONE,
		.flags = PROG_VIRTUAL | PROG_TAIL | PROG_INDIRECT,
		.call = CALL_UNKNOWN,
		.freq = p->blocks[block].freq / 2,
		.any.cost_ns = INFINITY,
		.last.cost_ns = INFINITY,
	};
	return index;
}

/* The taken way of a branch: to a function, or to another module. */
static uint32_t make_virtual(struct maker *m, uint32_t block)
{
	uint32_t index = make_way_out(m, block);
	struct prog_block *v = &m->p->blocks[index];
	v->flags &= ~PROG_INDIRECT;
	v->call = random_chance(&m->rng, 70) ? CALL_DIRECT : CALL_LEAF;
	v->callee = random_callee(m, v->func);
	return index;
}

static void make_branch(struct maker *m, uint32_t block, uint32_t next)
{
	m->p->blocks[block].flags |= PROG_BRANCH;
	add_succ(m, block, next);
	add_succ(m, block, random_chance(&m->rng, 5) ? make_virtual(m, block) : random_target(m));
}

/* How block @i of the function goes on. */
static void make_end(struct maker *m, uint32_t i)
{
	uint64_t *rng = &m->rng;
	uint32_t block = m->base + i;
	struct prog_block *b = &m->p->blocks[block];
	b->succ = m->p->n_succs;
	if (b->flags & PROG_NORETURN)
		return;
	uint32_t next = next_block(m, i);
	if (b->call != CALL_NONE) {
		bool setjmp = b->call == CALL_LEAF && i + 1 < m->n && m->pad[i + 1];
		if (setjmp) {
			add_succ(m, block, block + 1);
		} else if (random_chance(rng, m->shape->tail)) {
			b->flags |= PROG_TAIL;
			b->height = 0;
		} else {
			add_succ(m, block, next);
		}
		return;
	}
	uint32_t roll = random_below(rng, 100);
	if (i + 1 == m->n || roll < 12) {
		b->flags |= PROG_RET;
	} else if (roll < 70) {
		make_branch(m, block, next);
	} else if (roll < 80) {
		for (uint32_t k = 2 + random_below(rng, 3); k; k--)
			add_succ(m, block, random_target(m));
		if (random_chance(rng, 30)) {
			b->flags |= PROG_OPEN;
			if (block % 3 == 0)
				add_succ(m, block, make_way_out(m, block));
		}
	} else {
		add_succ(m, block, next);
	}
}

static void make_block(struct maker *m, uint32_t func, uint32_t i)
{
	uint64_t addr = 0x10000 + 64ull * (m->base + i);
	struct prog_block *b = &m->p->blocks[m->base + i];
	*b = (struct prog_block){
		.func = func,
		.addr = addr,
		.call_off = 32,
		.call_len = 5,
		.origin = PUGMARK_NONE,
		.site = PUGMARK_NONE,
		.height = PUGMARK_HEIGHT_UNKNOWN,
		.freq = 1 + random_below(&m->rng, 100),
		.any = random_probe(m, addr + 8, 0),
	};
	make_call(m, b);
	bool after_leaf = i && b[-1].call == CALL_LEAF && !(b[-1].flags & PROG_NORETURN);
	bool root = i && (m->pad[i] || (after_leaf && random_chance(&m->rng, 10)));
	if (root)
		b->flags |= PROG_ROOT;
	if (root && after_leaf && b[-1].height != PUGMARK_HEIGHT_UNKNOWN)
		b->flags |= PROG_SETJMP | (m->base + i) % 2 * PROG_AGAIN;
	m->pad[i] = root;
	if (!i && b->height == PUGMARK_HEIGHT_UNKNOWN)
		b->height = 16;
	b->last = random_probe(m, addr + 32, 5);
	if (root || !i)
		b->any.cfa_known = b->last.cfa_known = true;
	if (b->call == CALL_DIRECT)
		b->last.cost_ns = 600;
}

static void make_function(struct maker *m, uint32_t func)
{
	struct program *p = m->p;
	m->base = p->n_blocks;
	m->n = between(m, m->shape->blocks_min, m->shape->blocks_max);
	p->n_blocks += m->n;
	for (uint32_t i = 0; i < m->n; i++)
		m->pad[i] = i && random_chance(&m->rng, 3);
	struct prog_func *f = &p->funcs[func];
	*f = (struct prog_func){
		.block = m->base,
		.origin = func,
		.addr = 0x10000 + 64ull * m->base,
		.freq = 1 + random_below(&m->rng, 20),
	};
	if (!func || random_chance(&m->rng, m->shape->entered))
		f->flags |= PROG_ENTRY_WITNESS;
	for (uint32_t i = 0; i < m->n; i++)
		make_block(m, func, i);
	for (uint32_t i = 0; i < m->n; i++) {
		struct prog_block *b = &p->blocks[m->base + i];
		make_end(m, i);
		if (b->flags & PROG_BRANCH)
			b->last.cost_ns = 600;
		if (b->flags & PROG_OPEN)
			b->last.cost_ns = 6500;
	}
	f->n_blocks = p->n_blocks - m->base;
}

static void mark_reached(struct program *p, uint32_t block)
{
	struct prog_block *b = &p->blocks[block];
	if (b->flags & PROG_REACHED)
		return;
	b->flags |= PROG_REACHED;
	for (uint32_t i = 0; i < b->n_succ; i++)
		mark_reached(p, prog_succs(p, block)[i]);
}

/* Whether @func can return, when those can that are known to. */
static bool can_return(const struct program *p, uint32_t func, const bool *returns)
{
	const struct prog_func *f = &p->funcs[func];
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct prog_block *b = &p->blocks[i];
		bool comes_back = b->call != CALL_DIRECT || returns[b->callee];
		bool leaves = b->flags & (PROG_RET | PROG_TAIL) && !(b->flags & PROG_NORETURN);
		if (b->flags & PROG_REACHED && leaves && comes_back)
			return true;
	}
	return false;
}

/* A branch to a function that never returns is known for what it is. */
static void mark_noreturn(struct program *p)
{
	bool *returns = calloc(p->n_funcs, sizeof(bool));
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t f = 0; f < p->n_funcs; f++)
			if (!returns[f] && can_return(p, f, returns))
				grew = returns[f] = true;
	}
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		struct prog_block *block = &p->blocks[b];
		bool jump = block->flags & PROG_VIRTUAL && block->call == CALL_DIRECT;
		if (jump && !returns[block->callee])
			block->flags |= PROG_NORETURN;
	}
	free(returns);
}

struct program *random_program(uint64_t seed)
{
	struct maker m = {.rng = seed, .p = calloc(1, sizeof(*m.p))};
	uint32_t roll = random_below(&m.rng, 100);
	m.shape = &shapes[roll < 50 ? 0 : roll % N_SHAPES];
	m.p->n_funcs = between(&m, m.shape->funcs_min, m.shape->funcs_max);
	m.p->funcs = calloc(m.p->n_funcs, sizeof(*m.p->funcs));
	m.p->blocks = calloc(2 * m.p->n_funcs * m.shape->blocks_max, sizeof(*m.p->blocks));
	m.pad = calloc(m.shape->blocks_max, sizeof(*m.pad));
	for (uint32_t f = 0; f < m.p->n_funcs; f++)
		make_function(&m, f);
	for (uint32_t f = 0; f < m.p->n_funcs; f++)
		mark_reached(m.p, m.p->funcs[f].block);
	for (uint32_t b = 0; b < m.p->n_blocks; b++)
		if (m.p->blocks[b].flags & PROG_ROOT)
			mark_reached(m.p, b);
	mark_noreturn(m.p);
	program_mark_entered_tails(m.p);
	free(m.pad);
	return m.p;
}

void random_forbid_probes(struct program *prog, uint64_t seed)
{
	for (uint32_t f = seed & 3; f < prog->n_funcs; f += 4)
		for (uint32_t i = 1; i < prog->funcs[f].n_blocks; i++) {
			struct prog_block *b = &prog->blocks[prog->funcs[f].block + i];
			if (b->flags & (PROG_ROOT | PROG_OPEN) || !random_chance(&seed, 25))
				continue;
			b->any.cost_ns = b->last.cost_ns = INFINITY;
		}
}
