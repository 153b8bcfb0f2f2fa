// SPDX-License-Identifier: LGPL-2.1-or-later
/* postdom.c: see postdom.h. The algorithm is that of Cooper, Harvey and Kennedy ("A Simple, Fast
 * Dominance Algorithm"), on the graph with its edges turned. */
#include "offline/slice/postdom.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

struct graph {
	const struct pugmark_model *model;
	const struct pugmark_func *func;
	uint32_t exit;
	uint32_t *first, *preds; /* of block b: preds[first[b]] to preds[first[b + 1] - 1] */
	uint32_t *order, *rank;	 /* blocks in postorder from the exit; a block's place in it */
	uint32_t n_order;
};

/* Whether control may leave the function behind @b's last instruction. */
static bool leaves(const struct pugmark_block *b, uint32_t successors)
{
	switch (b->end) {
	case PUGMARK_END_FALL:
	case PUGMARK_END_JMP:
	case PUGMARK_END_TABLE:
	case PUGMARK_END_CALL:
		return !successors;
	case PUGMARK_END_JCC:
		return successors < 2;
	default:
		return true;
	}
}

/* The @i-th way from block @b, UINT32_MAX behind the last. */
static uint32_t way(const struct graph *g, uint32_t b, uint32_t i)
{
	const struct pugmark_block *block = &g->model->blocks[g->func->block + b];
	uint32_t k = 0;
	for (uint32_t e = 0; e < block->n_edges; e++) {
		const struct pugmark_edge *edge = &g->model->edges[block->edge + e];
		if (edge->kind != PUGMARK_EDGE_UNWIND && k++ == i)
			return edge->to - g->func->block;
	}
	return i == k && leaves(block, k) ? g->exit : NOWHERE;
}

/* The edges turned: who leads to each block. */
static bool turn(struct graph *g)
{
	uint32_t n = g->exit + 1, edges = 0;
	g->first = calloc(n + 2, sizeof(*g->first));
	if (!g->first)
		return false;
	for (uint32_t b = 0; b < g->exit; b++)
		for (uint32_t i = 0, to; (to = way(g, b, i)) != NOWHERE; i++, edges++)
			g->first[to + 2]++;
	for (uint32_t b = 2; b < n + 2; b++)
		g->first[b] += g->first[b - 1];
	g->preds = malloc((edges + 1) * sizeof(*g->preds));
	if (!g->preds)
		return false;
	for (uint32_t b = 0; b < g->exit; b++)
		for (uint32_t i = 0, to; (to = way(g, b, i)) != NOWHERE; i++)
			g->preds[g->first[to + 1]++] = b;
	return true;
}

/* Postorder of what reaches the exit, by a walk from it. */
static bool put_in_order(struct graph *g)
{
	uint32_t n = g->exit + 1, depth = 0;
	uint32_t *stack = malloc(n * sizeof(*stack)), *next = malloc(n * sizeof(*next));
	g->order = malloc(n * sizeof(*g->order));
	g->rank = malloc(n * sizeof(*g->rank));
	if (stack && next && g->order && g->rank) {
		memset(g->rank, 0xff, n * sizeof(*g->rank));
		memcpy(next, g->first, n * sizeof(*next));
		stack[depth++] = g->exit;
		g->rank[g->exit] = 0;
		while (depth) {
			uint32_t b = stack[depth - 1];
			if (next[b] == g->first[b + 1]) {
				g->rank[b] = g->n_order;
				g->order[g->n_order++] = b;
				depth--;
				continue;
			}
			uint32_t from = g->preds[next[b]++];
			if (g->rank[from] == NOWHERE) {
				g->rank[from] = 0; /* seen */
				stack[depth++] = from;
			}
		}
	}
	free(stack);
	free(next);
	return g->rank && g->n_order;
}

static uint32_t meet(const struct graph *g, const uint32_t *up, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->rank[a] < g->rank[b])
			a = up[a];
		while (g->rank[b] < g->rank[a])
			b = up[b];
	}
	return a;
}

static void settle(const struct graph *g, uint32_t *up)
{
	bool changed = true;
	memset(up, 0xff, (g->exit + 1) * sizeof(*up));
	up[g->exit] = g->exit;
	while (changed) {
		changed = false;
		for (uint32_t k = g->n_order - 1; k-- > 0;) {
			uint32_t b = g->order[k], best = NOWHERE;
			for (uint32_t i = 0, to; (to = way(g, b, i)) != NOWHERE; i++)
				if (up[to] != NOWHERE)
					best = best == NOWHERE ? to : meet(g, up, best, to);
			changed |= up[b] != best;
			up[b] = best;
		}
	}
}

uint32_t *postdom_new(const struct pugmark_model *model, uint32_t func)
{
	struct graph g = {.model = model, .func = &model->funcs[func]};
	g.exit = g.func->n_blocks;
	uint32_t *up = malloc((g.exit + 1) * sizeof(*up));
	if (!up || !turn(&g) || !put_in_order(&g)) {
		free(up);
		up = NULL;
	} else {
		settle(&g, up);
	}
	free(g.first);
	free(g.preds);
	free(g.order);
	free(g.rank);
	return up;
}
