// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_seed.c: see plan_seed.h. A site belongs to the block whose cheapest or last instruction it
 * is on. */
#include "offline/plan/plan_seed.h"

#include <errno.h>
#include <stdlib.h>

struct place {
	uint64_t addr, func;
	uint8_t kind; /* enum witness_kind */
};

struct lookup {
	struct place *sites; /* heap, sorted by address, then function */
	uint32_t n;
};

static int by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

static const struct place *site_at(const struct lookup *l, uint64_t addr, uint64_t func)
{
	struct place key = {.addr = addr, .func = func};
	return l->n ? bsearch(&key, l->sites, l->n, sizeof(key), by_address) : NULL;
}

/* How @b was marked. */
static uint8_t mark_of(const struct lookup *l, const struct program *prog,
		       const struct prog_block *b, uint64_t func)
{
	const struct place *s =
		prog_probeable(&b->last) ? site_at(l, prog_probe_addr(prog, &b->last), func) : NULL;
	if (s && s->kind == PUGMARK_WITNESS_BRANCH && b->flags & PROG_BRANCH)
		return MARK_BRANCH;
	if (s && s->kind == PUGMARK_WITNESS_TARGET)
		return MARK_TARGET;
	if (s && (s->kind == PUGMARK_WITNESS_RETURN || b->last.off != b->any.off))
		return MARK_LAST;
	s = prog_probeable(&b->any) ? site_at(l, prog_probe_addr(prog, &b->any), func) : NULL;
	return s && s->kind == PUGMARK_WITNESS_BLOCK ? MARK_BLOCK : MARK_NONE;
}

/* Whether @func is traced by @plan. */
static bool was_traced(const struct pugmark_plan *plan, const struct prog_func *func)
{
	uint32_t f = pugmark_plan_func_at(plan, func->addr);
	return f != PUGMARK_NONE && !(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_OPAQUE);
}

static void seed_function(const struct program *prog, const struct pugmark_plan *plan,
			  const struct lookup *l, uint32_t func, struct choice_seed *seed)
{
	const struct prog_func *f = &prog->funcs[func];
	seed->anew[func] = !was_traced(plan, f);
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &prog->blocks[b];
		const struct prog_func *callee =
			block->call == CALL_DIRECT ? &prog->funcs[block->callee] : NULL;
		if (callee && callee->flags & PROG_OPAQUE && was_traced(plan, callee))
			seed->anew[func] = true;
		seed->marks[b] = mark_of(l, prog, block, f->addr);
	}
}

int choice_seed_from_plan(const struct program *prog, const struct pugmark_plan *plan,
			  struct choice_seed *out)
{
	struct lookup l = {.sites = calloc(plan->n_sites + 1, sizeof(*l.sites)),
			   .n = plan->n_sites};
	struct choice_seed seed = {
		.marks = calloc(prog->n_blocks + 1, sizeof(*seed.marks)),
		.anew = calloc(prog->n_funcs + 1, sizeof(*seed.anew)),
	};
	if (!l.sites || !seed.marks || !seed.anew) {
		free(l.sites);
		choice_seed_deinit(&seed);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < l.n; i++) {
		const struct pugmark_plan_site *s = &plan->sites[i];
		l.sites[i] = (struct place){s->addr, plan->funcs[s->func].addr, s->kind};
	}
	qsort(l.sites, l.n, sizeof(*l.sites), by_address);
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		seed_function(prog, plan, &l, f, &seed);
	free(l.sites);
	*out = seed;
	return 0;
}

void choice_seed_deinit(struct choice_seed *seed)
{
	free(seed->marks);
	free(seed->anew);
	*seed = (struct choice_seed){0};
}
