// SPDX-License-Identifier: LGPL-2.1-or-later
/* random_program.c: see random_program.h. Blocks are laid out 64 bytes apart; a call's instruction
 * is at 32, and it returns to 37. */
#include "tests/support/random_program.h"

#include <math.h>
#include <stdlib.h>

#define BLOCKS_MAX 14

struct maker {
	uint64_t rng;
	struct program *p;
	uint32_t cap_succs;
};

static struct prog_probe random_probe(struct maker *m, uint64_t addr, uint32_t unprobeable)
{
	return (struct prog_probe){
		.addr = addr,
		.cost_ns = random_chance(&m->rng, unprobeable) ? INFINITY
			   : random_chance(&m->rng, 60)	       ? 600
							       : 6500,
		.cfa_known = random_chance(&m->rng, 95),
	};
}

static void add_succ(struct maker *m, struct prog_block *b, uint32_t to)
{
	if (m->p->n_succs == m->cap_succs) {
		m->cap_succs = m->cap_succs ? 2 * m->cap_succs : 256;
		m->p->succs = realloc(m->p->succs, m->cap_succs * sizeof(uint32_t));
	}
	m->p->succs[m->p->n_succs++] = to;
	b->n_succ++;
}

static int32_t random_height(struct maker *m)
{
	static const int32_t heights[] = {16, 32, 48};
	return random_chance(&m->rng, 5) ? PUGMARK_HEIGHT_UNKNOWN
					 : heights[random_below(&m->rng, 3)];
}

static void make_call(struct maker *m, struct prog_block *b)
{
	uint32_t roll = random_below(&m->rng, 100);
	if (roll >= 60)
		return;
	b->call = roll < 40 ? CALL_DIRECT : roll < 50 ? CALL_UNKNOWN : CALL_LEAF;
	b->callee = random_below(&m->rng, m->p->n_funcs);
	b->height = random_height(m);
	if (b->call == CALL_UNKNOWN && random_chance(&m->rng, 70))
		b->flags |= PROG_INDIRECT;
	if (random_chance(&m->rng, 4) && b->call != CALL_DIRECT)
		b->flags |= PROG_NORETURN;
}

/* How block @i of the function that starts at @base and has @n blocks goes on. */
static void make_end(struct maker *m, struct prog_block *b, uint32_t i, uint32_t base, uint32_t n)
{
	uint64_t *rng = &m->rng;
	b->succ = m->p->n_succs;
	if (b->flags & PROG_NORETURN)
		return;
	uint32_t next = base + (i + 1 < n ? i + 1 : random_below(rng, n));
	if (b->call != CALL_NONE) {
		if (random_chance(rng, 6)) {
			b->flags |= PROG_TAIL;
			b->height = 0;
		} else {
			add_succ(m, b, next);
		}
		return;
	}
	uint32_t roll = random_below(rng, 100);
	if (i + 1 == n || roll < 12) {
		b->flags |= PROG_RET;
	} else if (roll < 70) {
		b->flags |= PROG_BRANCH;
		add_succ(m, b, next);
		add_succ(m, b, base + random_below(rng, n));
	} else if (roll < 80) {
		for (uint32_t k = 2 + random_below(rng, 3); k; k--)
			add_succ(m, b, base + random_below(rng, n));
		if (random_chance(rng, 30))
			b->flags |= PROG_OPEN;
	} else {
		add_succ(m, b, next);
	}
}

static void make_function(struct maker *m, uint32_t func)
{
	struct program *p = m->p;
	uint32_t n = 1 + random_below(&m->rng, BLOCKS_MAX - 1);
	p->funcs[func] =
		(struct prog_func){.block = p->n_blocks, .n_blocks = n, .origin = func, .freq = 1};
	if (!func || random_chance(&m->rng, 30))
		p->funcs[func].flags |= PROG_ENTRY_WITNESS;
	uint32_t base = p->n_blocks;
	p->n_blocks += n;
	p->funcs[func].addr = 0x10000 + 64ull * base;
	for (uint32_t i = 0; i < n; i++) {
		struct prog_block *b = &p->blocks[base + i];
		uint64_t addr = 0x10000 + 64ull * (base + i);
		*b = (struct prog_block){
			.func = func,
			.addr = addr,
			.call_addr = addr + 32,
			.call_len = 5,
			.origin = PUGMARK_NONE,
			.site = PUGMARK_NONE,
			.height = PUGMARK_HEIGHT_UNKNOWN,
			.freq = 1 + random_below(&m->rng, 100),
			.any = random_probe(m, addr + 8, 0),
		};
		make_call(m, b);
		bool root = i && random_chance(&m->rng, 4);
		if (root)
			b->flags |= PROG_ROOT;
		if ((!i || root) && b->height == PUGMARK_HEIGHT_UNKNOWN)
			b->height = 16; /* else such a block would be split before its call */
		make_end(m, b, i, base, n);
		b->last = random_probe(m, addr + 32, b->flags & PROG_BRANCH ? 0 : 5);
		if (b->flags & PROG_OPEN)
			b->last.cost_ns = 6500;
		if (b->call == CALL_DIRECT)
			b->last.cost_ns = 600;
	}
	p->blocks[base].any.cfa_known = true;
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

struct program *random_program(uint64_t seed)
{
	struct maker m = {.rng = seed, .p = calloc(1, sizeof(*m.p))};
	m.p->n_funcs = 1 + random_below(&m.rng, 7);
	m.p->funcs = calloc(m.p->n_funcs, sizeof(*m.p->funcs));
	m.p->blocks = calloc(m.p->n_funcs * BLOCKS_MAX, sizeof(*m.p->blocks));
	for (uint32_t f = 0; f < m.p->n_funcs; f++)
		make_function(&m, f);
	for (uint32_t f = 0; f < m.p->n_funcs; f++)
		mark_reached(m.p, m.p->funcs[f].block);
	for (uint32_t b = 0; b < m.p->n_blocks; b++)
		if (m.p->blocks[b].flags & PROG_ROOT)
			mark_reached(m.p, b);
	program_mark_entered_tails(m.p);
	return m.p;
}
