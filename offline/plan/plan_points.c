// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_points.c: what can be next from each address on. That is a set of nodes, and any one of them
 * can stand for it: if two of them could be next and nothing told them apart, the plan would not
 * hold. */
#include "offline/plan/plan_points.h"

#include <errno.h>
#include <stdlib.h>

/* The code of a block, or the part of it that its witness divides. */
struct piece {
	uint64_t addr, end;
	uint32_t next, func;
};

struct pieces {
	const struct program *prog;
	const struct pugmark_model *model;
	const uint32_t *node_of;
	const struct pugmark_plan *plan;
	uint32_t *next_of; /* per block: what can be next from its beginning on */
	uint32_t *last_of; /* per block that nothing can follow: the node that was last */
	struct piece *at;
	uint32_t n;
	struct pugmark_plan_point *points;
	uint32_t n_points, cap_points;
	bool failed;
};

/* What follows @block, through blocks without a node. */
static uint32_t next_after(const struct pieces *p, uint32_t block)
{
	const struct prog_block *b = &p->prog->blocks[block];
	if (b->flags & PROG_RET)
		return 0;
	for (uint32_t i = 0; i < b->n_succ; i++)
		if (p->next_of[prog_succs(p->prog, block)[i]] != PUGMARK_NONE)
			return p->next_of[prog_succs(p->prog, block)[i]];
	return PUGMARK_NONE;
}

static void find_next(struct pieces *p)
{
	for (uint32_t b = 0; b < p->prog->n_blocks; b++)
		p->next_of[b] = p->node_of[b] ? p->node_of[b] : PUGMARK_NONE;
	bool grew = true;
	while (grew) {
		grew = false;
		for (uint32_t b = p->prog->n_blocks; b-- > 0;) {
			if (p->next_of[b] != PUGMARK_NONE)
				continue;
			p->next_of[b] = next_after(p, b);
			grew |= p->next_of[b] != PUGMARK_NONE;
		}
	}
}

#define LAST_UNSEEN (PUGMARK_NONE - 1)

/* Notes that @block comes after node @last (0: the entry). Returns whether that is new. */
static bool comes_after(struct pieces *p, uint32_t block, uint32_t last)
{
	uint32_t *was = &p->last_of[block];
	uint32_t now = *was == LAST_UNSEEN || *was == last ? last : PUGMARK_NONE;
	bool news = now != *was;
	if (news)
		*was = now;
	return news;
}

/* Finds the last node for blocks in endless loops, or after which a thread cannot go on. */
static void find_last(struct pieces *p)
{
	const struct program *prog = p->prog;
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		p->last_of[b] = LAST_UNSEEN;
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		if (prog->funcs[f].n_blocks)
			comes_after(p, prog->funcs[f].block, 0);
	bool news = true;
	while (news) {
		news = false;
		for (uint32_t b = 0; b < prog->n_blocks; b++) {
			uint32_t last = p->node_of[b] ? p->node_of[b] : p->last_of[b];
			if (last == LAST_UNSEEN)
				continue;
			for (uint32_t i = 0; i < prog->blocks[b].n_succ; i++)
				news |= comes_after(p, prog_succs(prog, b)[i], last);
		}
	}
}

static uint32_t place_of(const struct pieces *p, uint32_t block)
{
	uint32_t last = p->last_of[block];
	if (p->next_of[block] != PUGMARK_NONE || last == LAST_UNSEEN || last == PUGMARK_NONE)
		return p->next_of[block];
	return last | PUGMARK_POINT_AFTER;
}

static void add_piece(struct pieces *p, uint64_t addr, uint64_t end, uint32_t next, uint32_t func)
{
	if (addr < end)
		p->at[p->n++] = (struct piece){addr, end, next, func};
}

/* Where the code of @block ends, without a model: at the next one's. */
static uint64_t next_addr(const struct program *prog, uint32_t block)
{
	uint32_t next = block + 1;
	while (next < prog->n_blocks && (prog->blocks[next].flags & PROG_VIRTUAL ||
					 prog->blocks[next].addr <= prog->blocks[block].addr))
		next++;
	return next < prog->n_blocks ? prog->blocks[next].addr : UINT64_MAX;
}

static void add_block(struct pieces *p, uint32_t block)
{
	const struct prog_block *b = &p->prog->blocks[block];
	const struct pugmark_plan_node *n = &p->plan->nodes[p->node_of[block]];
	uint64_t end = UINT64_MAX;
	if (!p->model) {
		end = next_addr(p->prog, block);
	} else {
		const struct pugmark_block *origin = &p->model->blocks[b->origin];
		end = origin->addr + origin->size;
	}
	if (!p->node_of[block] || n->site == PUGMARK_NONE ||
	    p->plan->sites[n->site].kind != PUGMARK_WITNESS_BLOCK) {
		add_piece(p, b->addr, end, place_of(p, block), b->func);
		return;
	}
	/* The instruction that is probed has not run yet. */
	uint64_t after = p->plan->sites[n->site].addr + 1;
	uint32_t next = p->node_of[block] | PUGMARK_POINT_PASSED;
	if (n->kind == PUGMARK_NODE_KIND_MARK)
		next = next_after(p, block);
	if (next == PUGMARK_NONE)
		next = p->node_of[block] | PUGMARK_POINT_AFTER;
	add_piece(p, b->addr, after, p->node_of[block], b->func);
	add_piece(p, after, end, next, b->func);
}

static int by_addr(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

static void add_point(struct pieces *p, uint64_t addr, uint32_t next, uint32_t func, int32_t cfa)
{
	uint64_t off = addr - p->plan->text_addr;
	struct pugmark_plan_point *last = p->n_points ? &p->points[p->n_points - 1] : NULL;
	if (off > UINT32_MAX ||
	    (last && last->next == next && last->func == func && last->cfa == cfa))
		return;
	if (p->n_points == p->cap_points) {
		uint32_t cap = p->cap_points ? 2 * p->cap_points : 1024;
		struct pugmark_plan_point *more = realloc(p->points, cap * sizeof(*more));
		p->failed |= !more;
		if (!more)
			return;
		p->points = more;
		p->cap_points = cap;
	}
	p->points[p->n_points++] = (struct pugmark_plan_point){off, next, func, cfa};
}

/* Adds the points of one piece: one for each change of where its frame lies. */
static void add_points(struct pieces *p, const struct piece *at, uint64_t end)
{
	uint64_t addr = at->addr, next = end;
	while (addr < end && !p->failed) {
		struct pugmark_cfa cfa = {.reg = PUGMARK_CFA_UNKNOWN};
		if (p->model)
			cfa = pugmark_model_cfa_from(p->model, addr, &next);
		bool small = cfa.offset > INT32_MIN / 4 && cfa.offset < INT32_MAX / 4;
		add_point(p, addr, at->next, at->func,
			  small ? PUGMARK_POINT_CFA(cfa.reg, cfa.offset)
				: PUGMARK_POINT_CFA(PUGMARK_CFA_UNKNOWN, 0));
		addr = next;
	}
}

/* Joins the pieces, in order, to points; what lies between pieces is in no function. */
static void join(struct pieces *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct piece *at = &p->at[i];
		if (at->addr < p->plan->text_addr || (i && at[-1].addr == at->addr))
			continue; /* code of several functions: of the first */
		uint32_t k = i + 1;
		while (k < p->n && p->at[k].addr == at->addr)
			k++;
		uint64_t follows = k < p->n ? p->at[k].addr : UINT64_MAX;
		uint64_t end = at->end < follows ? at->end : follows;
		add_points(p, at, end);
		if (end < follows)
			add_point(p, end, PUGMARK_NONE, PUGMARK_NONE, 0);
	}
}

int plan_points(const struct program *program, const struct pugmark_model *model,
		const uint32_t *node_of, struct pugmark_plan *plan, struct pugmark_plan_point **out)
{
	struct pieces p = {.prog = program, .model = model, .node_of = node_of, .plan = plan};
	p.next_of = malloc((program->n_blocks + 1) * sizeof(*p.next_of));
	p.last_of = malloc((program->n_blocks + 1) * sizeof(*p.last_of));
	p.at = malloc((2 * (size_t)program->n_blocks + 1) * sizeof(*p.at));
	bool room = p.next_of && p.last_of && p.at;
	if (room) {
		find_next(&p);
		find_last(&p);
		for (uint32_t b = 0; b < program->n_blocks; b++)
			if (program->blocks[b].flags & PROG_REACHED &&
			    !(program->blocks[b].flags & PROG_VIRTUAL))
				add_block(&p, b);
		qsort(p.at, p.n, sizeof(*p.at), by_addr);
		join(&p);
	}
	int err = room && !p.failed ? 0 : -ENOMEM;
	free(p.next_of);
	free(p.last_of);
	free(p.at);
	if (err) {
		free(p.points);
		return err;
	}
	plan->n_points = p.n_points;
	*out = p.points;
	return 0;
}
