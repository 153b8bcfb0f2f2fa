// SPDX-License-Identifier: LGPL-2.1-or-later
/* cscfg.c: walks from each site to the next ones. */
#include "offline/base/vec.h"
#include "offline/code/cscfg.h"

#include <errno.h>

/* Blocks and edges looked at for one graph: a second or so. */
#define MAX_STEPS (UINT64_C(1) << 28)

struct walker {
	const struct pugmark_model *model;
	const struct pugmark_func *func;
	struct cscfg *graph;
	uint32_t *block_seen, *node_seen; /* the source that saw it last, plus one */
	uint32_t *stack;
	uint32_t n_stack, source;
	uint64_t n_steps;
	VEC(uint32_t) to;
};

static int add_edge(struct walker *w, uint32_t node)
{
	if (w->node_seen[node] == w->source + 1)
		return 0;
	w->node_seen[node] = w->source + 1;
	return VEC_PUSH(&w->to, node) ? 0 : -ENOMEM;
}

static void visit(struct walker *w, uint32_t block)
{
	uint32_t local = block - w->func->block;
	if (w->block_seen[local] == w->source + 1)
		return;
	w->block_seen[local] = w->source + 1;
	w->stack[w->n_stack++] = block;
}

static void visit_successors(struct walker *w, const struct pugmark_block *block)
{
	for (uint32_t k = 0; k < block->n_edges; k++)
		visit(w, w->model->edges[block->edge + k].to);
	w->n_steps += block->n_edges + 1;
}

/* Whether the path goes on past @block: its site ends the path, unless control may also stay in the
 * function. */
static int pass_block(struct walker *w, const struct pugmark_block *block)
{
	int err = 0;
	if (block->site != PUGMARK_NONE)
		err = add_edge(w, block->site - w->func->site);
	if (!err && block->flags & PUGMARK_BLOCK_TWO_SITES)
		err = add_edge(w, block->site + 1 - w->func->site);
	switch (block->end) {
	case PUGMARK_END_CALL:
	case PUGMARK_END_NORETURN:
	case PUGMARK_END_TAIL:
		w->n_steps++;
		return err;
	case PUGMARK_END_RET:
	case PUGMARK_END_OPEN:
		if (!err)
			err = add_edge(w, w->graph->exit);
		break;
	}
	visit_successors(w, block);
	return err;
}

static int walk_from(struct walker *w, uint32_t source)
{
	int err = 0;
	w->source = source;
	w->n_stack = 0;
	if (source == w->graph->entry) {
		if (w->func->n_blocks)
			visit(w, w->func->block);
	} else if (source < w->graph->n_sites) {
		const struct pugmark_site *site = &w->model->sites[w->func->site + source];
		if (site->kind == PUGMARK_SITE_TAIL)
			return site->flags & PUGMARK_SITE_NORETURN ? 0
								   : add_edge(w, w->graph->exit);
		visit_successors(w, &w->model->blocks[site->block]);
	}
	while (w->n_stack && !err && w->n_steps < MAX_STEPS)
		err = pass_block(w, &w->model->blocks[w->stack[--w->n_stack]]);
	return err ? err : w->n_steps < MAX_STEPS ? 0 : -E2BIG;
}

int cscfg_build(const struct pugmark_model *model, uint32_t func, struct cscfg *graph)
{
	const struct pugmark_func *f = &model->funcs[func];
	uint32_t n_nodes = f->n_sites + 2;
	*graph = (struct cscfg){
		.func = func,
		.n_sites = f->n_sites,
		.entry = f->n_sites,
		.exit = f->n_sites + 1,
		.first = calloc(n_nodes + 1, sizeof(uint32_t)),
	};
	struct walker w = {
		.model = model,
		.func = f,
		.graph = graph,
		.block_seen = calloc((size_t)f->n_blocks + 1, sizeof(uint32_t)),
		.node_seen = calloc(n_nodes, sizeof(uint32_t)),
		.stack = calloc((size_t)f->n_blocks + 1, sizeof(uint32_t)),
	};
	int err = graph->first && w.block_seen && w.node_seen && w.stack ? 0 : -ENOMEM;
	for (uint32_t node = 0; node < n_nodes && !err; node++) {
		err = walk_from(&w, node);
		graph->first[node + 1] = w.to.n;
	}
	free(w.block_seen);
	free(w.node_seen);
	free(w.stack);
	graph->to = w.to.at;
	if (err)
		cscfg_deinit(graph);
	return err;
}

void cscfg_deinit(struct cscfg *graph)
{
	free(graph->first);
	free(graph->to);
	*graph = (struct cscfg){0};
}

static int compare_indices(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

int call_graph_build(const struct pugmark_model *model, struct call_graph *graph)
{
	uint32_t n = 0;
	*graph = (struct call_graph){
		.first = calloc((size_t)model->n_funcs + 1, sizeof(uint32_t)),
		.callee = calloc((size_t)model->n_sites + 1, sizeof(uint32_t)),
		.n_sites = calloc((size_t)model->n_sites + 1, sizeof(uint32_t)),
	};
	if (!graph->first || !graph->callee || !graph->n_sites) {
		call_graph_deinit(graph);
		return -ENOMEM;
	}
	for (uint32_t func = 0; func < model->n_funcs; func++) {
		const struct pugmark_func *f = &model->funcs[func];
		uint32_t first = n, end = n;
		for (uint32_t i = f->site; i < f->site + f->n_sites; i++)
			if (model->sites[i].via == PUGMARK_VIA_DIRECT &&
			    model->sites[i].target != PUGMARK_NONE)
				graph->callee[end++] = model->sites[i].target;
		qsort(graph->callee + first, end - first, sizeof(uint32_t), compare_indices);
		for (uint32_t i = first; i < end; i++) {
			if (n > first && graph->callee[n - 1] == graph->callee[i]) {
				graph->n_sites[n - 1]++;
				continue;
			}
			graph->callee[n] = graph->callee[i];
			graph->n_sites[n++] = 1;
		}
		graph->first[func + 1] = n;
	}
	return 0;
}

void call_graph_deinit(struct call_graph *graph)
{
	free(graph->first);
	free(graph->callee);
	free(graph->n_sites);
	*graph = (struct call_graph){0};
}
