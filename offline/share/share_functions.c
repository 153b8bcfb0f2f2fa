// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_functions.c: see share_functions.h. Functions that call each other are joined to groups,
 * the groups are dealt out, and then functions are moved.
 *
 * Where caller and callee are in one share, the one tells the other, as in a plan of all functions.
 * Where they are not, each call is an event, with its stack. So those two groups are joined first
 * that have most calls with each other for what they weigh (the geometric mean of both). No group
 * becomes larger than GROUP_PART of an even share, or there would be nothing to take turns with.
 * Then the largest group goes to the share that has least, and so on. */
#include "offline/share/share_functions.h"

#include <errno.h>
#include <stdlib.h>

#define GROUP_PART 1.6
#define GROUP_MAX 0.5 /* of everything */
/* In one pass over the edges those are taken whose worth is this part of the best one's. */
#define NEAR_BEST 0.7
/* What a function weighs without a call, so that those that never run are dealt out evenly, too. */
#define IDLE 1e-6
/* A function is moved for so much more of its calls; and so often all are asked. */
#define MORE 1.0001
#define PASSES 20

struct edge {
	uint32_t a, b; /* groups, a < b */
	double calls, worth;
};

struct grouping {
	uint32_t *group; /* per function, up to its group's first one: group[g] == g */
	double *load;	 /* per group, in calls */
	struct edge *edges;
	uint32_t n_edges;
	double most; /* that a group may have */
};

/* What is split. */
struct calls {
	const struct program *prog;
	struct share_call *at; /* from one function to another, as much as they are worth */
	uint32_t n;
	double *own; /* per function: half of the calls that it makes, and of those of it */
	double all;  /* calls, also those that leave the program */
};

/* How often the call at a block's end is made. */
static double calls_of(const struct program *p, const struct prog_block *block)
{
	double calls = (double)block->freq * p->funcs[block->func].freq;
	return block->call != CALL_NONE && calls > 0 ? calls : 0;
}

/* What a group, or a share that a function is moved to, may have at the most. */
static double most_of(double calls, uint32_t n)
{
	return calls * fmin(GROUP_PART / n, GROUP_MAX);
}

static uint32_t group_of(struct grouping *g, uint32_t f)
{
	while (g->group[f] != f) {
		g->group[f] = g->group[g->group[f]];
		f = g->group[f];
	}
	return f;
}

static int by_groups(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static int by_worth(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;
	if (a->worth != b->worth)
		return a->worth > b->worth ? -1 : 1;
	return by_groups(x, y);
}

/* Names the groups that edges are between now; one edge for each two groups, with its worth. */
static void renew(struct grouping *g)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->n_edges; i++) {
		struct edge *e = &g->edges[i];
		uint32_t a = group_of(g, e->a), b = group_of(g, e->b);
		if (a != b && g->load[a] + g->load[b] <= g->most)
			g->edges[n++] = (struct edge){a < b ? a : b, a < b ? b : a, e->calls, 0};
	}
	qsort(g->edges, n, sizeof(*g->edges), by_groups);
	g->n_edges = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct edge *last = g->n_edges ? &g->edges[g->n_edges - 1] : NULL;
		if (last && !by_groups(last, &g->edges[i]))
			last->calls += g->edges[i].calls;
		else
			g->edges[g->n_edges++] = g->edges[i];
	}
	for (uint32_t i = 0; i < g->n_edges; i++) {
		struct edge *e = &g->edges[i];
		e->worth = e->calls / sqrt(g->load[e->a] * g->load[e->b]);
	}
	qsort(g->edges, g->n_edges, sizeof(*g->edges), by_worth);
}

/* Joins the groups of two functions, if one group may be so large. */
static void join_two(struct grouping *g, uint32_t x, uint32_t y)
{
	uint32_t a = group_of(g, x), b = group_of(g, y);
	if (a == b || g->load[a] + g->load[b] > g->most)
		return;
	g->group[a < b ? b : a] = a < b ? a : b;
	g->load[a < b ? a : b] = g->load[a] + g->load[b];
}

static void join_groups(struct grouping *g)
{
	for (renew(g); g->n_edges; renew(g)) {
		double least = NEAR_BEST * g->edges[0].worth;
		for (uint32_t i = 0; i < g->n_edges && g->edges[i].worth >= least; i++)
			join_two(g, g->edges[i].a, g->edges[i].b);
	}
}

static void calls_deinit(struct calls *c)
{
	free(c->at);
	free(c->own);
}

/* What it costs that a call of @f comes from another share, by what it costs where the entry can be
 * emulated. */
static double entry_worth(const struct program *p, uint32_t f)
{
	const struct prog_func *func = &p->funcs[f];
	double hit = func->n_blocks
			     ? p->blocks[func->block].any.cost_ns / probe_costs_default.emulated_ns
			     : 1;
	return isfinite(hit) ? (hit + SHARE_ENTRY_HITS) / (1 + SHARE_ENTRY_HITS) : 1;
}

static void add_call(struct calls *c, uint32_t caller, uint32_t callee, double calls)
{
	c->own[callee] += calls / 2;
	if (caller != callee && calls > 0)
		c->at[c->n++] =
			(struct share_call){caller, callee, calls * entry_worth(c->prog, callee)};
}

static int calls_init(struct calls *c, const struct program *p, const struct share_call *by_pointer,
		      uint32_t n)
{
	*c = (struct calls){.prog = p};
	c->at = malloc(((size_t)p->n_blocks + n + 1) * sizeof(*c->at));
	c->own = malloc((p->n_funcs + 1) * sizeof(*c->own));
	if (!c->at || !c->own)
		return -ENOMEM;
	for (uint32_t f = 0; f < p->n_funcs; f++)
		c->own[f] = IDLE * (1 + p->funcs[f].n_blocks);
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		const struct prog_block *block = &p->blocks[b];
		double calls = calls_of(p, block);
		c->all += calls;
		c->own[block->func] += calls / 2;
		if (block->call == CALL_DIRECT)
			add_call(c, block->func, block->callee, calls);
	}
	for (uint32_t i = 0; i < n; i++)
		add_call(c, by_pointer[i].caller, by_pointer[i].callee, by_pointer[i].calls);
	return 0;
}

static int grouping_init(struct grouping *g, const struct calls *c, uint32_t n)
{
	uint32_t n_funcs = c->prog->n_funcs;
	g->group = malloc((n_funcs + 1) * sizeof(*g->group));
	g->load = malloc((n_funcs + 1) * sizeof(*g->load));
	g->edges = malloc((c->n + 1) * sizeof(*g->edges));
	if (!g->group || !g->load || !g->edges)
		return -ENOMEM;
	for (uint32_t f = 0; f < n_funcs; f++) {
		g->group[f] = f;
		g->load[f] = c->own[f];
	}
	for (uint32_t i = 0; i < c->n; i++)
		g->edges[i] = (struct edge){c->at[i].caller, c->at[i].callee, c->at[i].calls, 0};
	g->n_edges = c->n;
	g->most = most_of(c->all, n);
	return 0;
}

static void grouping_deinit(struct grouping *g)
{
	free(g->group);
	free(g->load);
	free(g->edges);
}

/* Functions that no call is known of, in either direction: each joins the one before it, which
 * mostly is of the same source file, and may be what calls it by a pointer. */
static int join_lone(struct grouping *g, const struct calls *c)
{
	bool *known = calloc(c->prog->n_funcs + 1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++)
		known[c->at[i].caller] = known[c->at[i].callee] = true;
	for (uint32_t f = 1; f < c->prog->n_funcs; f++)
		if (!known[f])
			join_two(g, f - 1, f);
	free(known);
	return 0;
}

struct group {
	uint32_t first;
	double load;
};

static int by_load(const void *x, const void *y)
{
	const struct group *a = x, *b = y;
	if (a->load != b->load)
		return a->load > b->load ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Deals the groups out, the largest ones first. */
static int deal(const struct program *p, struct grouping *g, uint32_t n, uint32_t *share)
{
	struct group *groups = malloc((p->n_funcs + 1) * sizeof(*groups));
	double *loads = calloc(n, sizeof(*loads));
	uint32_t n_groups = 0;
	if (groups && loads) {
		for (uint32_t f = 0; f < p->n_funcs; f++)
			if (g->group[f] == f)
				groups[n_groups++] = (struct group){f, g->load[f]};
		qsort(groups, n_groups, sizeof(*groups), by_load);
	}
	for (uint32_t i = 0; i < n_groups; i++) {
		uint32_t to = 0;
		for (uint32_t k = 1; k < n; k++)
			if (loads[k] < loads[to])
				to = k;
		loads[to] += groups[i].load;
		share[groups[i].first] = to;
	}
	int err = groups && loads ? 0 : -ENOMEM;
	free(groups);
	free(loads);
	for (uint32_t f = 0; !err && f < p->n_funcs; f++)
		share[f] = share[group_of(g, f)];
	return err;
}

/* ---- functions moved between shares ---- */

/* A function's calls with another one, both ways. */
struct neighbour {
	uint32_t func;
	double calls;
};

struct refining {
	const struct calls *calls;
	uint32_t n;
	uint32_t *share;
	uint32_t *first; /* per function, into at */
	struct neighbour *at;
	double *loads; /* per share */
	double *with;  /* per share: calls of one function */
	double most;   /* that a share may have */
};

static void refining_deinit(struct refining *r)
{
	free(r->first);
	free(r->at);
	free(r->loads);
	free(r->with);
}

static int refining_init(struct refining *r)
{
	const struct calls *c = r->calls;
	uint32_t n_funcs = c->prog->n_funcs;
	r->first = calloc(n_funcs + 3, sizeof(*r->first));
	r->at = malloc((2 * (size_t)c->n + 1) * sizeof(*r->at));
	r->loads = calloc(r->n, sizeof(*r->loads));
	r->with = calloc(r->n, sizeof(*r->with));
	if (!r->first || !r->at || !r->loads || !r->with)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++) {
		r->first[c->at[i].caller + 2]++;
		r->first[c->at[i].callee + 2]++;
	}
	for (uint32_t f = 0; f < n_funcs; f++)
		r->first[f + 2] += r->first[f + 1];
	for (uint32_t i = 0; i < c->n; i++) {
		const struct share_call *call = &c->at[i];
		r->at[r->first[call->caller + 1]++] = (struct neighbour){call->callee, call->calls};
		r->at[r->first[call->callee + 1]++] = (struct neighbour){call->caller, call->calls};
	}
	for (uint32_t f = 0; f < n_funcs; f++)
		r->loads[r->share[f]] += c->own[f];
	return 0;
}

/* Moves @f to where most of its calls are, if there is room. */
static bool move(struct refining *r, uint32_t f)
{
	uint32_t from = r->share[f], to = from;
	for (uint32_t k = 0; k < r->n; k++)
		r->with[k] = 0;
	for (uint32_t i = r->first[f]; i < r->first[f + 1]; i++)
		r->with[r->share[r->at[i].func]] += r->at[i].calls;
	for (uint32_t k = 0; k < r->n; k++)
		if (r->with[k] > r->with[to] * MORE && r->loads[k] + r->calls->own[f] <= r->most)
			to = k;
	r->loads[from] -= r->calls->own[f];
	r->loads[to] += r->calls->own[f];
	r->share[f] = to;
	return to != from;
}

static int refine(const struct calls *calls, uint32_t n, uint32_t *share)
{
	struct refining r = {
		.calls = calls, .n = n, .share = share, .most = most_of(calls->all, n)};
	int err = refining_init(&r);
	bool moved = true;
	for (int pass = 0; !err && moved && pass < PASSES; pass++) {
		moved = false;
		for (uint32_t f = 0; f < calls->prog->n_funcs; f++)
			moved |= move(&r, f);
	}
	refining_deinit(&r);
	return err;
}

int share_functions(const struct program *prog, const struct share_call *by_pointer,
		    uint32_t n_by_pointer, uint32_t n, uint32_t *share,
		    struct share_functions_cost *cost)
{
	struct grouping g = {0};
	struct calls calls;
	int err = calls_init(&calls, prog, by_pointer, n_by_pointer);
	if (!err)
		err = grouping_init(&g, &calls, n);
	if (!err) {
		join_groups(&g);
		err = join_lone(&g, &calls);
	}
	if (!err) {
		err = deal(prog, &g, n, share);
	}
	if (!err)
		err = refine(&calls, n, share);
	if (!err && cost) {
		*cost = (struct share_functions_cost){.calls = calls.all};
		for (uint32_t i = 0; i < calls.n; i++)
			if (share[calls.at[i].caller] != share[calls.at[i].callee])
				cost->between += calls.at[i].calls;
	}
	grouping_deinit(&g);
	calls_deinit(&calls);
	return err;
}

/* ---- callers that are traced along ---- */

/* Calls of one function: from functions that are traced along with it, and from others, and what
 * tracing these others would cost. */
struct callers {
	double inside, outside, cost;
};

/* What tracing @f costs, in hits, where none of its callers is. */
static double cost_of(const struct program *p, uint32_t f)
{
	const struct prog_func *func = &p->funcs[f];
	double hits = func->freq * (1.0 + SHARE_ENTRY_HITS);
	for (uint32_t b = func->block; b < func->block + func->n_blocks; b++)
		hits += calls_of(p, &p->blocks[b]);
	return hits;
}

static void find_callers(const struct program *p, const bool *in, const double *costs,
			 struct callers *of)
{
	for (uint32_t f = 0; f < p->n_funcs; f++)
		of[f] = (struct callers){0};
	for (uint32_t f = 0; f < p->n_funcs; f++)
		for (uint32_t b = p->funcs[f].block; b < p->funcs[f].block + p->funcs[f].n_blocks;
		     b++) {
			const struct prog_block *block = &p->blocks[b];
			if (block->call != CALL_DIRECT)
				continue;
			struct callers *c = &of[block->callee];
			*(in[f] ? &c->inside : &c->outside) += calls_of(p, block);
			c->cost += in[f] ? 0 : costs[f]; /* of two calls twice: that is more */
		}
}

int share_functions_along(const struct program *p, const uint32_t *share, uint32_t which, bool *in)
{
	double *costs = malloc((p->n_funcs + 1) * sizeof(*costs));
	struct callers *callers = malloc((p->n_funcs + 1) * sizeof(*callers));
	int err = costs && callers ? 0 : -ENOMEM;
	for (uint32_t f = 0; !err && f < p->n_funcs; f++) {
		costs[f] = cost_of(p, f);
		in[f] = share[f] == which;
	}
	if (!err)
		find_callers(p, in, costs, callers);
	for (uint32_t b = 0; !err && b < p->n_blocks; b++) {
		const struct prog_block *block = &p->blocks[b];
		if (block->call != CALL_DIRECT || share[block->callee] != which ||
		    p->funcs[block->callee].flags & PROG_ENTRY_WITNESS)
			continue;
		const struct callers *c = &callers[block->callee];
		if (c->cost < c->inside + c->outside * SHARE_ENTRY_HITS)
			in[block->func] = true;
	}
	free(costs);
	free(callers);
	return err;
}
