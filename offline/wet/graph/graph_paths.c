// SPDX-License-Identifier: LGPL-2.1-or-later
/* graph_paths.c: what was executed, path by path: timestamps, and whose results each statement has
 * read. */
#include "offline/wet/graph/graph_impl.h"

#include <string.h>

/* The path that is being executed, and where its part of each list begins. */
struct path {
	const struct wet_step *steps; /* NULL: none */
	uint32_t n_blocks;
	const uint32_t *loads, *made;
	size_t result, n_results, address;
	uint64_t block; /* its first one, of all */
	bool ends;	/* its last block is its last */
};

static void put_edge(struct wet_graph *g, uint32_t node, uint32_t stmt, uint32_t operand,
		     const struct wet_maker *from, uint32_t *last)
{
	if (!from->stmt)
		return;
	uint32_t now = g->nodes[node].executions;
	g->totals.dependences++;
	/* @last is of this statement and operand: only who made it may be another one. */
	if (*last && g->edges.at[*last - 1].from == from->stmt - 1) {
		if (!wet_edges_again(&g->edges, *last - 1, now, from->time))
			g->no_memory = true;
		return;
	}
	struct wet_edge e = {.to = g->nodes[node].first_stmt + stmt,
			     .from = from->stmt - 1,
			     .to_node = node,
			     .from_node = g->node_of[from->stmt - 1],
			     .operand = operand};
	if (!wet_edges_add(&g->edges, &e, now, from->time, last))
		g->no_memory = true;
}

/* The different ones who made what a load has read, to g->found; returns how many. */
static uint32_t find_makers(struct wet_graph *g, const struct wet_batch *b, uint32_t load)
{
	const uint32_t *defs = &load;
	uint32_t k = 1, n = 0;
	if (load & DEP_LOAD_MANY) {
		defs = &b->many.at[load & ~DEP_LOAD_MANY];
		k = *defs++;
	}
	for (uint32_t d = 0; d < k && n < UNFORESEEN_WRITERS_MAX; d++) {
		struct wet_maker from = wet_makers_get(&g->makers, defs[d]);
		uint32_t i = 0;
		while (i < n && !wet_maker_same(&from, &g->found[i]))
			i++;
		if (from.stmt && i == n)
			g->found[n++] = from;
	}
	return n;
}

static void put_loads(struct wet_graph *g, const struct wet_batch *b, uint32_t node,
		      const struct wet_access *a, const uint32_t *loads, uint32_t *last,
		      const struct wet_foreseen *f)
{
	for (unsigned i = 0; i < a->n_loads; i++) {
		uint32_t n = find_makers(g, b, loads[i]);
		for (uint32_t k = 0; k < n; k++)
			put_edge(g, node, a->stmt, WET_MEMORY + i, &g->found[k], &last[i]);
		if (g->executed)
			wet_foreseen_load(g, f, a, i, n);
	}
}

/* Statement by statement, so that a load finds what the same execution has stored before. */
static void put_memory(struct wet_graph *g, const struct wet_batch *b, uint32_t node,
		       const struct path *p)
{
	struct wet_node *n = &g->nodes[node];
	const uint32_t *load = p->loads, *string = p->made;
	uint32_t def = p->steps->def, *edges = n->load_edges;
	struct wet_foreseen f;
	if (g->executed)
		wet_foreseen_begin(g, &f, p->steps, b->addresses.at + p->address, p->block);
	for (uint32_t i = 0; i < n->reads.n_accesses; i++) {
		const struct wet_access *a = &n->reads.accesses[i];
		struct wet_maker by = {n->first_stmt + a->stmt + 1, n->executions};
		uint32_t made = a->n_stores;
		if (g->executed)
			wet_foreseen_access(g, &f, a);
		if (a->string)
			made += *string++;
		if (a->n_loads)
			put_loads(g, b, node, a, load, edges, &f);
		load += a->n_loads;
		edges += a->n_loads;
		for (uint32_t m = 0; m < made; m++)
			wet_makers_set(&g->makers, ++def, by);
		if (g->executed)
			wet_foreseen_stores(g, &f, a, by);
	}
}

/* One edge for units in a row that have the same maker: the first one's. */
static void put_registers(struct wet_graph *g, uint32_t node)
{
	struct wet_node *n = &g->nodes[node];
	const struct wet_maker *before = NULL;
	uint32_t stmt = UINT32_MAX;
	for (uint32_t i = 0; i < n->reads.n_outer;) {
		struct wet_outer *o = &n->reads.outer[i];
		const struct wet_maker *from = &g->units[o->unit];
		uint32_t run = 1;
		if (g->executed)
			wet_foreseen_units(g, o);
		if (!before || stmt != o->stmt || !wet_maker_same(before, from))
			put_edge(g, node, o->stmt, o->unit, from, &o->edge);
		before = from;
		stmt = o->stmt;
		while (run < o->run && wet_maker_same(from, from + run))
			run++;
		i += run;
	}
	wet_units_left(g->units, &n->reads, n->first_stmt, n->executions);
	g->totals.dependences += n->reads.n_inner;
}

static void put_values(struct wet_graph *g, struct wet_batch *b, const struct wet_node *n,
		       const struct path *p)
{
	struct wet_path_values values = {n->groups, n->order, n->n_groups, n->n_values, p->result};
	if (n->n_values && !g->executed && !VEC_PUSH(&b->paths, values))
		g->no_memory = true;
	g->totals.values += n->n_values;
}

static bool put_next(struct wet_graph *g, uint32_t node)
{
	struct wet_node *last = g->last != UINT32_MAX ? &g->nodes[g->last] : NULL;
	g->first = last ? g->first : node;
	g->last = node;
	if (!last || (last->n_next && last->after == node))
		return true;
	last->after = node;
	for (uint32_t i = 0; i < last->n_next; i++)
		if (last->next[i] == node)
			return true;
	uint32_t *next = realloc(last->next, (last->n_next + 1) * sizeof(*next));
	if (!next)
		return false;
	last->next = next;
	next[last->n_next++] = node;
	return true;
}

/* The blocks of a path are items one behind the other. */
static void note_items(struct wet_graph *g, uint32_t node, const struct path *p)
{
	uint64_t item = p->steps->item;
	uint32_t stmt = g->nodes[node].first_stmt;
	if (item + p->n_blocks >= UINT32_MAX || item < g->last_of.n ||
	    !VEC_RESERVE(&g->last_of, (uint32_t)(item + p->n_blocks - g->last_of.n))) {
		g->no_memory = true;
		return;
	}
	for (; g->last_of.n < item; g->last_of.n++)
		g->last_of.at[g->last_of.n] = (struct wet_maker){0, 0};
	for (uint32_t i = 0; i < p->n_blocks; i++) {
		stmt += p->steps[i].block->n_insns;
		g->last_of.at[g->last_of.n++] = (struct wet_maker){stmt, g->nodes[node].executions};
	}
}

static bool room_for_node(struct wet_graph *g, uint32_t node)
{
	if (node < g->room_nodes)
		return true;
	uint32_t room = 2 * g->room_nodes + 256;
	struct wet_node *nodes = realloc(g->nodes, room * sizeof(*nodes));
	if (!nodes)
		return false;
	memset(nodes + g->room_nodes, 0, (room - g->room_nodes) * sizeof(*nodes));
	g->nodes = nodes;
	g->room_nodes = room;
	return true;
}

/* One more execution of @node has the next timestamp. */
static bool put_time(struct wet_graph *g, uint32_t node)
{
	g->totals.paths++;
	if (!g->executed)
		return wet_growing_add(g->press, &g->nodes[node].times, (uint32_t)g->totals.paths);
	wet_flow_add(&g->flow, node);
	return !g->flow.no_memory;
}

static void end_path(struct wet_graph *g, struct wet_batch *b, struct path *p)
{
	struct path path = *p;
	bool fresh;
	p->steps = NULL;
	if (!path.steps || g->no_memory)
		return;
	/* Timestamps and numbers of executions are of 32 bits. */
	if (g->totals.paths == UINT32_MAX) {
		g->no_memory = true;
		return;
	}
	uint32_t likely = g->last != UINT32_MAX ? g->nodes[g->last].after : UINT32_MAX;
	uint32_t number = wet_paths_end(&g->paths, likely, &fresh);
	if (number == UINT32_MAX || !room_for_node(g, number) ||
	    (fresh && !wet_graph_make_node(g, &g->nodes[number], path.steps, path.n_blocks)) ||
	    !put_next(g, number) || !put_time(g, number)) {
		g->no_memory = true;
		return;
	}
	struct wet_node *n = &g->nodes[number];
	put_values(g, b, n, &path);
	put_memory(g, b, number, &path);
	put_registers(g, number);
	if (g->executed)
		wet_foreseen_end(g, number, fresh);
	if (g->control)
		note_items(g, number, &path);
	g->totals.statements += n->n_stmts;
	n->executions++;
}

/* Something outside has set these registers, behind the last path. */
static void forget_units(struct wet_graph *g, const struct dep_units *writes)
{
	wet_units_forget(g->units, writes);
	if (g->executed && g->fresh != UINT32_MAX) {
		dep_units_add(&g->nodes[g->fresh].behind, writes);
		wet_units_forget(g->writers.units, writes);
	}
}

/* The nodes since the cut before. */
static void end_flow(struct wet_graph *g)
{
	struct bytes flow = {0};
	if (!wet_flow_end(&g->flow, &flow) || !VEC_PUSH(&g->flows, flow)) {
		bytes_deinit(&flow);
		g->no_memory = true;
	}
}

static void put_cut(struct wet_graph *g)
{
	struct wet_cut cut = {g->totals.paths, g->totals.values, g->cut_executions.len};
	if (g->executed)
		wet_foreseen_cut(g);
	if (g->executed && g->cuts.n)
		end_flow(g);
	while (g->cut_before.n < g->paths.n)
		if (!VEC_PUSH(&g->cut_before, 0)) {
			g->no_memory = true;
			return;
		}
	for (uint32_t i = 0; i < g->paths.n; i++) {
		bytes_put_varint(&g->cut_executions, g->nodes[i].executions - g->cut_before.at[i]);
		g->cut_before.at[i] = g->nodes[i].executions;
	}
	g->no_memory |= g->cut_executions.failed || !VEC_PUSH(&g->cuts, cut);
}

void wet_graph_link(struct wet_graph *g, struct wet_batch *b)
{
	struct path p = {0};
	const uint32_t *loads = b->loads.at, *made = b->made.at;
	size_t result = 0, address = 0;
	g->no_memory |= !wet_makers_room(&g->makers, b->last_def);
	for (uint32_t i = 0; i < b->notes.n && !g->no_memory; i++)
		g->no_memory = !VEC_PUSH(&g->notes, b->notes.at[i]);
	for (uint32_t i = 0; i < b->steps.n && !g->no_memory; i++) {
		const struct wet_step *s = &b->steps.at[i];
		if (!s->block) {
			end_path(g, b, &p);
			if (s->cut)
				put_cut(g);
			if (s->writes)
				forget_units(g, &b->writes.at[s->writes - 1]);
			continue;
		}
		if (p.ends || !wet_paths_goes_on(&g->paths, s->block->ip) ||
		    p.n_results + s->block->n_results > WET_PATH_VALUES)
			end_path(g, b, &p);
		if (!p.steps)
			p = (struct path){.steps = s,
					  .loads = loads,
					  .made = made,
					  .result = result,
					  .address = address,
					  .block = g->next_block};
		g->fresh = UINT32_MAX;
		g->next_block++;
		wet_paths_add(&g->paths, s->block->number, s->block->ip);
		uint8_t last = s->block->last_kind;
		p.ends = last == VALUE_INSN_CALL || last == VALUE_INSN_CALL_IND ||
			 last == VALUE_INSN_RET;
		p.n_blocks++;
		p.n_results += s->block->n_results;
		result += s->block->n_results;
		address += s->block->n_addresses;
		for (const uint32_t *end = loads + s->block->n_loads; loads < end; loads++)
			if (!(*loads & DEP_LOAD_MANY))
				wet_makers_near(&g->makers, *loads);
		made += s->block->n_strings;
		g->totals.blocks++;
	}
	end_path(g, b, &p);
	if (b->old && !wet_makers_keep(&g->makers, b->old, b->live.at, b->live.n))
		g->no_memory = true;
}
