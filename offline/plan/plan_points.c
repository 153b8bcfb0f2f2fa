// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_points.c: what can be next from each address on. That is a set of nodes, and any one of them
 * can stand for it: if two of them could be next and nothing told them apart, the plan would not
 * hold. */
#include "offline/plan/plan_points.h"

#include <errno.h>
#include <stdlib.h>

/* The code of a block, or the part of it that its witness divides: from @off on, in bytes from the
 * plan's text_addr, as far as such an offset goes. */
struct piece {
	uint32_t off, end;
	uint32_t next, func;
};

/* Pieces are put into buckets of so much code, in which they are sorted: that takes no memory
 * beside them. */
#define BUCKET_SHIFT 16

struct pieces {
	const struct program *prog;
	const struct pugmark_model *model;
	const uint32_t *node_of;
	const struct pugmark_plan *plan;
	/* Per block of the function in hand: what can be next from its beginning on; where nothing
	 * can follow, the node that was last. */
	uint32_t *next_of, *last_of;
	uint32_t first;	     /* block of that function */
	struct piece *at;    /* NULL: they are counted */
	uint32_t n, *bucket; /* where the next piece of each goes, or how many it has */
	uint32_t n_buckets;
};

/* Points that are being made of pieces. */
struct points {
	const struct pugmark_model *model;
	uint64_t text_addr;
	struct pugmark_plan_point *at;
	uint32_t n, cap;
	bool failed;
};

/* What follows @block, through blocks without a node. */
static uint32_t next_after(const struct pieces *p, uint32_t block)
{
	const struct prog_block *b = &p->prog->blocks[block];
	if (b->flags & PROG_RET)
		return 0;
	for (uint32_t i = 0; i < b->n_succ; i++)
		if (p->next_of[prog_succs(p->prog, block)[i] - p->first] != PUGMARK_NONE)
			return p->next_of[prog_succs(p->prog, block)[i] - p->first];
	return PUGMARK_NONE;
}

/* Edges do not leave a function: so each is gone over again by itself. */
static void find_next(struct pieces *p, const struct prog_func *f)
{
	bool grew = true;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		p->next_of[i] = p->node_of[f->block + i] ? p->node_of[f->block + i] : PUGMARK_NONE;
	while (grew) {
		grew = false;
		for (uint32_t i = f->n_blocks; i-- > 0;) {
			if (p->next_of[i] != PUGMARK_NONE)
				continue;
			p->next_of[i] = next_after(p, f->block + i);
			grew |= p->next_of[i] != PUGMARK_NONE;
		}
	}
}

#define LAST_UNSEEN (PUGMARK_NONE - 1)

/* Notes that @block comes after node @last (0: the entry). Returns whether that is new. */
static bool comes_after(struct pieces *p, uint32_t block, uint32_t last)
{
	uint32_t *was = &p->last_of[block - p->first];
	uint32_t now = *was == LAST_UNSEEN || *was == last ? last : PUGMARK_NONE;
	bool news = now != *was;
	if (news)
		*was = now;
	return news;
}

/* Finds the last node for blocks in endless loops, or after which a thread cannot go on. */
static void find_last(struct pieces *p, const struct prog_func *f)
{
	const struct program *prog = p->prog;
	bool news = f->n_blocks > 0;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		p->last_of[i] = LAST_UNSEEN;
	if (news)
		comes_after(p, f->block, 0);
	while (news) {
		news = false;
		for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
			uint32_t last = p->node_of[b] ? p->node_of[b] : p->last_of[b - p->first];
			if (last == LAST_UNSEEN)
				continue;
			for (uint32_t i = 0; i < prog->blocks[b].n_succ; i++)
				news |= comes_after(p, prog_succs(prog, b)[i], last);
		}
	}
}

static uint32_t place_of(const struct pieces *p, uint32_t block)
{
	uint32_t next = p->next_of[block - p->first], last = p->last_of[block - p->first];
	if (next != PUGMARK_NONE || last == LAST_UNSEEN || last == PUGMARK_NONE)
		return next;
	return last | PUGMARK_POINT_AFTER;
}

static void add_piece(struct pieces *p, uint64_t addr, uint64_t end, uint32_t next, uint32_t func)
{
	uint64_t from = addr - p->plan->text_addr, to = end - p->plan->text_addr;
	if (addr >= end || addr < p->plan->text_addr || from > UINT32_MAX)
		return;
	uint32_t *bucket = &p->bucket[from >> BUCKET_SHIFT];
	if (p->at)
		p->at[*bucket] = (struct piece){
			(uint32_t)from, to > UINT32_MAX ? UINT32_MAX : (uint32_t)to, next, func};
	++*bucket;
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

/* While pieces are counted nothing is known of what is next, nor needed. */
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
		add_piece(p, b->addr, end, p->at ? place_of(p, block) : 0, b->func);
		return;
	}
	/* The instruction that is probed has not run yet. */
	uint64_t after = p->plan->sites[n->site].addr + 1;
	uint32_t next = p->node_of[block] | PUGMARK_POINT_PASSED;
	if (n->kind == PUGMARK_NODE_KIND_MARK)
		next = p->at ? next_after(p, block) : 0;
	if (next == PUGMARK_NONE)
		next = p->node_of[block] | PUGMARK_POINT_AFTER;
	add_piece(p, b->addr, after, p->node_of[block], b->func);
	add_piece(p, after, end, next, b->func);
}

static int by_off(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

static void add_blocks(struct pieces *p)
{
	for (uint32_t f = 0; f < p->prog->n_funcs; f++) {
		const struct prog_func *func = &p->prog->funcs[f];
		p->first = func->block;
		if (p->at) {
			find_next(p, func);
			find_last(p, func);
		}
		for (uint32_t b = func->block; b < func->block + func->n_blocks; b++)
			if (p->prog->blocks[b].flags & PROG_REACHED &&
			    !(p->prog->blocks[b].flags & PROG_VIRTUAL))
				add_block(p, b);
	}
}

static bool in_order(const struct piece *at, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (by_off(&at[i - 1], &at[i]) > 0)
			return false;
	return true;
}

/* Counts the pieces of each bucket, then makes them where they belong; false: memory is out. They
 * seldom have to be sorted: compilers lay blocks out in the order in which functions have them. */
static bool make_pieces(struct pieces *p)
{
	add_blocks(p);
	for (uint32_t i = 0; i < p->n_buckets; i++) {
		uint32_t n = p->bucket[i];
		p->bucket[i] = p->n;
		p->n += n;
	}
	p->at = malloc(((size_t)p->n + 1) * sizeof(*p->at));
	if (!p->at)
		return false;
	add_blocks(p);
	for (uint32_t i = 0, from = 0; i < p->n_buckets; from = p->bucket[i++])
		if (!in_order(p->at + from, p->bucket[i] - from))
			qsort(p->at + from, p->bucket[i] - from, sizeof(*p->at), by_off);
	return true;
}

/* So many that the last piece has one. */
static uint32_t count_buckets(const struct program *program, const struct pugmark_plan *plan)
{
	uint64_t last = plan->text_addr;
	for (uint32_t b = 0; b < program->n_blocks; b++)
		last = program->blocks[b].addr > last ? program->blocks[b].addr : last;
	for (uint32_t s = 0; s < plan->n_sites; s++)
		last = plan->sites[s].addr >= last ? plan->sites[s].addr + 1 : last;
	uint64_t off = last - plan->text_addr;
	return (uint32_t)((off > UINT32_MAX ? UINT32_MAX : off) >> BUCKET_SHIFT) + 1;
}

int plan_pieces_make(const struct program *program, const struct pugmark_model *model,
		     const uint32_t *node_of, const struct pugmark_plan *plan,
		     struct plan_pieces *out)
{
	struct pieces p = {.prog = program, .model = model, .node_of = node_of, .plan = plan};
	uint32_t most = 1;
	for (uint32_t f = 0; f < program->n_funcs; f++)
		most = program->funcs[f].n_blocks > most ? program->funcs[f].n_blocks : most;
	p.next_of = malloc(most * sizeof(*p.next_of));
	p.last_of = malloc(most * sizeof(*p.last_of));
	p.n_buckets = count_buckets(program, plan);
	p.bucket = calloc(p.n_buckets, sizeof(*p.bucket));
	bool room = p.next_of && p.last_of && p.bucket && make_pieces(&p);
	free(p.next_of);
	free(p.last_of);
	free(p.bucket);
	if (!room)
		return -ENOMEM;
	*out = (struct plan_pieces){p.at, p.n};
	return 0;
}

void plan_pieces_deinit(struct plan_pieces *pieces)
{
	free(pieces->at);
	*pieces = (struct plan_pieces){0};
}

static void add_point(struct points *p, uint64_t addr, uint32_t next, uint32_t func, int32_t cfa)
{
	uint64_t off = addr - p->text_addr;
	struct pugmark_plan_point *last = p->n ? &p->at[p->n - 1] : NULL;
	if (off > UINT32_MAX ||
	    (last && last->next == next && last->func == func && last->cfa == cfa))
		return;
	if (p->n == p->cap) {
		uint32_t cap = p->cap ? 2 * p->cap : 1024;
		struct pugmark_plan_point *more = realloc(p->at, cap * sizeof(*more));
		p->failed |= !more;
		if (!more)
			return;
		p->at = more;
		p->cap = cap;
	}
	p->at[p->n++] = (struct pugmark_plan_point){off, next, func, cfa};
}

/* Adds the points of one piece: one for each change of where its frame lies. */
static void add_points(struct points *p, const struct piece *at, uint64_t end)
{
	uint64_t addr = p->text_addr + at->off, next = end;
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

/* What lies between pieces is in no function. */
int plan_points_join(const struct plan_pieces *pieces, const struct pugmark_model *model,
		     struct pugmark_plan *plan, struct pugmark_plan_point **out)
{
	struct points p = {.model = model, .text_addr = plan->text_addr};
	const struct piece *at = pieces->at, *end_of_all = at + pieces->n;
	for (const struct piece *next; at < end_of_all; at = next) {
		next = at + 1; /* code of several functions: of the first */
		while (next < end_of_all && next->off == at->off)
			next++;
		uint32_t follows = next < end_of_all ? next->off : UINT32_MAX;
		uint32_t end = at->end < follows ? at->end : follows;
		add_points(&p, at, p.text_addr + end);
		if (end < follows)
			add_point(&p, p.text_addr + end, PUGMARK_NONE, PUGMARK_NONE, 0);
	}
	if (p.failed) {
		free(p.at);
		return -ENOMEM;
	}
	plan->n_points = p.n;
	*out = p.at;
	return 0;
}
