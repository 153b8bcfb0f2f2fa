// SPDX-License-Identifier: LGPL-2.1-or-later
/* graph_foreseen.c: while a window that will be executed again is made: whose results that will say
 * that each read has (writers.h), and where another one's are what it has read, which is put down
 * (unforeseen.h) and right from then on. */
#include "offline/wet/graph/graph_impl.h"

#include "offline/wet/again/again.h"

#include <string.h>

/* What was told before block @block. */
static void take_notes(struct wet_graph *g, uint64_t block)
{
	while (g->n_noted < g->notes.n && g->notes.at[g->n_noted].block <= block) {
		const struct wet_note *note = &g->notes.at[g->n_noted++];
		if (note->blocks)
			g->told_until = note->block + note->blocks;
		else
			wet_writers_store(&g->writers, note->what * 8, 8, (struct wet_maker){0, 0});
	}
	if (g->n_noted == g->notes.n)
		g->n_noted = g->notes.n = 0;
}

static void look_at_block(struct wet_graph *g, struct wet_foreseen *f)
{
	take_notes(g, f->block);
	f->told = f->block < g->told_until;
}

void wet_foreseen_begin(struct wet_graph *g, struct wet_foreseen *f, const struct wet_step *steps,
			const uint64_t *addresses, uint64_t first)
{
	*f = (struct wet_foreseen){steps, addresses, first, steps->block->n_insns, false};
	look_at_block(g, f);
}

void wet_foreseen_access(struct wet_graph *g, struct wet_foreseen *f, const struct wet_access *a)
{
	while (a->stmt >= f->end) {
		f->steps++;
		f->end += f->steps->block->n_insns;
		f->block++;
		look_at_block(g, f);
	}
	if (a->direction && !f->told)
		g->writers.down = a->direction < 0;
}

static void put_unforeseen(struct wet_graph *g, uint32_t stmt, uint32_t operand, uint32_t n,
			   const struct wet_maker *by, uint32_t n_by)
{
	uint64_t before = g->cuts.n ? g->cuts.at[g->cuts.n - 1].paths : 0;
	struct unforeseen_read read = {g->totals.paths - 1 - before, stmt, operand, n};
	unforeseen_put(&g->unforeseen, &read);
	for (uint32_t i = 0; i < n_by; i++) {
		uint32_t node = by[i].stmt ? g->node_of[by[i].stmt - 1] : 0;
		unforeseen_put_writer(&g->unforeseen, by[i], g->nodes[node].executions);
	}
}

void wet_foreseen_load(struct wet_graph *g, const struct wet_foreseen *f,
		       const struct wet_access *a, unsigned i, uint32_t n)
{
	struct wet_maker said[WET_WRITERS_LOAD];
	uint64_t addr = f->addresses[a->addresses + a->loads[i].address];
	uint32_t n_said = f->told ? 0 : wet_writers_load(&g->writers, addr, a->loads[i].len, said);
	if (n == n_said && !memcmp(said, g->found, n * sizeof(*said)))
		return;
	put_unforeseen(g, a->stmt, WET_MEMORY + i, n, g->found, n);
	if (!f->told && n < 2)
		wet_writers_store(&g->writers, addr, a->loads[i].len,
				  n ? g->found[0] : (struct wet_maker){0, 0});
}

void wet_foreseen_stores(struct wet_graph *g, const struct wet_foreseen *f,
			 const struct wet_access *a, struct wet_maker by)
{
	const uint64_t *addresses = f->addresses + a->addresses;
	if (f->told)
		return;
	if (a->string)
		wet_writers_string(&g->writers, a, addresses, by);
	for (unsigned i = 0; i < a->n_stores; i++)
		wet_writers_store(&g->writers, addresses[a->stores[i].address], a->stores[i].len,
				  by);
}

void wet_foreseen_units(struct wet_graph *g, const struct wet_outer *o)
{
	const struct wet_maker *is = &g->units[o->unit];
	struct wet_maker *said = &g->writers.units[o->unit];
	if (!memcmp(said, is, o->run * sizeof(*said)))
		return;
	for (unsigned k = 0, n; k < o->run; k += n) {
		bool right = wet_maker_same(&said[k], &is[k]);
		for (n = 1; !right && k + n < o->run && wet_maker_same(&is[k], &is[k + n]);)
			n++;
		if (!right)
			put_unforeseen(g, o->stmt, o->unit + k, n, &is[k], 1);
	}
	memcpy(said, is, o->run * sizeof(*said));
}

void wet_foreseen_end(struct wet_graph *g, uint32_t node, bool fresh)
{
	const struct wet_node *n = &g->nodes[node];
	wet_units_left(g->writers.units, &n->reads, n->first_stmt, n->executions);
	if (fresh)
		g->fresh = node;
	else
		wet_units_forget(g->writers.units, &n->behind);
	g->no_memory |= g->writers.no_memory;
}

void wet_foreseen_cut(struct wet_graph *g)
{
	struct unforeseen_block block;
	if (g->next_block)
		take_notes(g, g->next_block - 1);
	if (g->cuts.n % AGAIN_FRESH == 0)
		wet_writers_clear(&g->writers);
	if (!g->cuts.n)
		return;
	if (!unforeseen_end(&g->unforeseen, &block) || !VEC_PUSH(&g->unforeseen_blocks, block))
		g->no_memory = true;
}
