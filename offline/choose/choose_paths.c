// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_paths.c: the choice for one function of level paths. First the witnesses of a placement,
 * which tell every path through the function from every other; then, as in mode best, what its
 * calls still need beyond them. A function whose blocks need not show is chosen for as in mode
 * best. */
#include "offline/choose/choose_modes.h"
#include "offline/choose/conflict.h"
#include "offline/place/placement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The marks that are there already, as witnesses on the function's graph: they stay as they are. */
static void witnesses_from_marks(const struct conflicts *ch, const struct prog_func *f,
				 struct flow_graph *g, struct witness_set *w)
{
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		bool way = conflict_tells_way(ch, f->block + i);
		w->nodes[i] = ch->marks[f->block + i] && !way;
		w->ways[i] = way;
		if (w->nodes[i])
			g->nodes[i].way_weight = INFINITY;
	}
}

static void marks_from_witnesses(struct conflicts *ch, const struct prog_func *f,
				 const struct witness_set *w)
{
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		uint8_t *mark = &ch->marks[f->block + i];
		const struct prog_block *b = &ch->prog->blocks[f->block + i];
		if (w->ways[i])
			*mark = b->flags & PROG_BRANCH ? MARK_BRANCH : MARK_TARGET;
		else if (w->nodes[i] && !*mark)
			*mark = MARK_BLOCK;
	}
}

static void place(struct conflicts *ch, uint32_t func, enum placement how)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	struct flow_graph g;
	struct witness_set w = {0};
	if (flow_graph_of_function(&g, ch->prog, func)) {
		ch->failed = true;
		return;
	}
	int err = witness_set_init(&w, &g);
	if (!err) {
		witnesses_from_marks(ch, f, &g, &w);
		err = placement_choose(&g, how, &w);
	}
	if (!err || err == -EDOM)
		err = placement_without_edges(&g, &w);
	if (!err || err == -EDOM)
		marks_from_witnesses(ch, f, &w);
	else
		ch->failed = true;
	witness_set_deinit(&w);
	flow_graph_deinit(&g);
}

static void choose_placed(struct conflicts *ch, uint32_t func, enum placement how)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (f->flags & PROG_PATHS && f->n_blocks)
		place(ch, func, how);
	choose_best(ch, func);
}

void choose_blocks(struct conflicts *ch, uint32_t func)
{
	choose_placed(ch, func, PLACE_BLOCKS);
}

void choose_targets(struct conflicts *ch, uint32_t func)
{
	choose_placed(ch, func, PLACE_TARGETS);
}

void choose_edges(struct conflicts *ch, uint32_t func)
{
	choose_placed(ch, func, PLACE_EDGES);
}

void choose_nodes(struct conflicts *ch, uint32_t func)
{
	choose_placed(ch, func, PLACE_NODES);
}
