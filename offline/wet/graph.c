// SPDX-License-Identifier: LGPL-2.1-or-later
/* graph.c: what the replay yields, path by path. A path's blocks, results and the places of its
 * loads and definitions lie one behind the other, so only where they begin is kept until its end.
 */
#include "offline/wet/graph.h"

#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 64 * DEP_WORDS, MAX_RESULTS = 1 << 16, OTHER_INPUT = 63 };

/* Who made something: a statement in an execution of its node; statement 0 is nobody. */
struct maker {
	uint32_t stmt, time; /* stmt: number + 1 */
};

struct wet_graph {
	uint64_t from, to; /* the window, in instructions */
	struct wet_paths paths;
	struct wet_node *nodes; /* by number of the path */
	uint32_t room_nodes;
	uint32_t n_stmts;
	uint32_t *node_of; /* of a statement */
	struct wet_stmt *stmts;
	size_t room_stmts;
	struct wet_edges edges;
	struct wet_totals totals;
	struct maker units[UNITS];
	struct maker *defs; /* by number of the definition */
	uint32_t room_defs;
	const struct dep_block *blocks[WET_PATH_BLOCKS]; /* of the path that is being executed */
	struct dep_mark begin;
	uint64_t *results;
	size_t n_results;
	uint32_t first, last; /* nodes */
	bool ends;	      /* the path's last block is its last */
	bool no_memory;
	bool control;
	VEC(struct maker)
	last_of; /* with @control: of each item, the last statement of its block;
		    statement 0: it is none, or not of the window */
};

struct wet_graph *wet_graph_new(uint64_t from, uint64_t to, bool control)
{
	struct wet_graph *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->from = from;
	g->to = to;
	g->control = control;
	g->first = g->last = UINT32_MAX;
	g->results = malloc(MAX_RESULTS * sizeof(*g->results));
	if (!g->results) {
		free(g);
		return NULL;
	}
	return g;
}

void wet_graph_free(struct wet_graph *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->paths.n && i < g->room_nodes; i++) {
		struct wet_node *n = &g->nodes[i];
		for (uint32_t k = 0; k < n->n_groups; k++)
			wet_group_deinit(&n->groups[k]);
		free(n->groups);
		free(n->order);
		free(n->times);
		free(n->outer);
		free(n->load_edges);
		free(n->last);
		free(n->next);
	}
	wet_paths_deinit(&g->paths);
	wet_edges_deinit(&g->edges);
	free(g->nodes);
	free(g->node_of);
	free(g->stmts);
	VEC_FREE(&g->last_of);
	free(g->defs);
	free(g->results);
	free(g);
}

/* --- a new node ------------------------------------------------------------------------------ */

/* What is known of each unit while a node's statements are looked at in order. */
struct looking {
	uint64_t inputs[UNITS]; /* of the node, that its value depends on */
	uint16_t stmt[UNITS];	/* 1 + the statement that has written it; 0: none here */
	uint32_t n_inputs;
	uint64_t *value_inputs;
	uint32_t n_values;
	struct wet_outer outer[4096];
	uint32_t n_outer;
};

static uint64_t new_input(struct looking *l)
{
	return (uint64_t)1 << (l->n_inputs < OTHER_INPUT ? l->n_inputs++ : OTHER_INPUT);
}

static struct dep_units all_reads(const struct dep_insn *d)
{
	struct dep_units u = d->data;
	dep_units_add(&u, &d->address);
	dep_units_add(&u, &d->moves_by);
	return u;
}

/* Statement @s reads its registers: the inputs that they depend on; edges are noted. */
static uint64_t look_at_reads(struct looking *l, struct wet_node *n, const struct dep_units *reads,
			      uint16_t s)
{
	uint64_t inputs = 0;
	uint16_t before = 0;
	for (unsigned u = 0; u < UNITS; u++) {
		if (!(reads->w[u / 64] >> u % 64 & 1))
			continue;
		if (!l->stmt[u] && !l->inputs[u])
			l->inputs[u] = new_input(l);
		inputs |= l->inputs[u];
		if (l->stmt[u]) {
			n->n_inner += l->stmt[u] != before;
			before = l->stmt[u];
		} else if (l->n_outer < sizeof(l->outer) / sizeof(*l->outer)) {
			l->outer[l->n_outer++] = (struct wet_outer){s, u, 0};
		}
	}
	return inputs;
}

static void look(struct looking *l, struct wet_node *n, const struct dep_insn *d, uint16_t s)
{
	struct dep_units reads = all_reads(d), writes = d->writes;
	uint64_t inputs = look_at_reads(l, n, &reads, s);
	if (d->n_loads || d->string)
		inputs = new_input(l); /* what it reads is given from outside */
	dep_units_add(&writes, &d->moved);
	for (unsigned u = 0; u < UNITS; u++)
		if (writes.w[u / 64] >> u % 64 & 1) {
			l->inputs[u] = inputs;
			l->stmt[u] = s + 1;
		}
	for (unsigned i = 0; i < d->n_results; i++)
		l->value_inputs[l->n_values++] = inputs;
}

/* Gives each value of the node its group. */
static bool make_groups(struct wet_node *n, const struct looking *l)
{
	uint32_t *group = calloc(l->n_values + 1, sizeof(*group));
	n->order = calloc(l->n_values + 1, sizeof(*n->order));
	if (group && l->n_values)
		n->n_groups = wet_groups_form(l->value_inputs, l->n_values, group);
	n->groups = calloc(n->n_groups + 1, sizeof(*n->groups));
	bool fine = group && n->order && n->groups;
	uint32_t next = 0;
	for (uint32_t k = 0; fine && k < n->n_groups; k++)
		for (uint32_t i = 0; i < l->n_values; i++)
			if (group[i] == k) {
				n->order[next++] = i;
				n->groups[k].width++;
			}
	if (!n->groups)
		n->n_groups = 0;
	free(group);
	return fine;
}

static bool make_node(struct wet_graph *g, struct wet_node *n, uint32_t n_blocks)
{
	struct looking *l = calloc(1, sizeof(*l));
	uint32_t s = 0, n_loads = 0;
	*n = (struct wet_node){.first_stmt = g->n_stmts};
	for (uint32_t i = 0; i < n_blocks; i++) {
		n->n_stmts += g->blocks[i]->n_insns;
		n->n_values += g->blocks[i]->n_results;
	}
	if (l)
		l->value_inputs = calloc(n->n_values + 1, sizeof(*l->value_inputs));
	if (g->n_stmts + n->n_stmts > g->room_stmts) {
		size_t room = 2 * g->room_stmts + n->n_stmts + 1024;
		uint32_t *node_of = realloc(g->node_of, room * sizeof(*node_of));
		g->node_of = node_of ? node_of : g->node_of;
		struct wet_stmt *stmts = realloc(g->stmts, room * sizeof(*stmts));
		g->stmts = stmts ? stmts : g->stmts;
		g->room_stmts = node_of && stmts ? room : g->room_stmts;
	}
	bool fine = l && l->value_inputs && g->n_stmts + n->n_stmts <= g->room_stmts;
	for (uint32_t i = 0; fine && i < n_blocks; i++)
		for (unsigned k = 0; k < g->blocks[i]->n_insns; k++, s++) {
			look(l, n, &g->blocks[i]->insns[k], s);
			n_loads += g->blocks[i]->insns[k].n_loads;
			g->stmts[g->n_stmts + s] = (struct wet_stmt){
				g->blocks[i]->block->insns[k].ip, g->blocks[i]->insns[k].n_results};
		}
	fine = fine && make_groups(n, l);
	for (uint32_t i = 0; fine && i < n->n_stmts; i++)
		g->node_of[g->n_stmts + i] = n - g->nodes;
	n->outer = fine ? malloc((l->n_outer + 1) * sizeof(*n->outer)) : NULL;
	n->last = fine ? malloc(UNITS * sizeof(*n->last)) : NULL;
	n->load_edges = fine ? calloc(n_loads + 1, sizeof(*n->load_edges)) : NULL;
	fine = fine && n->outer && n->last && n->load_edges;
	if (fine) {
		g->n_stmts += n->n_stmts;
		memcpy(n->outer, l->outer, l->n_outer * sizeof(*n->outer));
		n->n_outer = l->n_outer;
		for (unsigned u = 0; u < UNITS; u++)
			if (l->stmt[u])
				n->last[n->n_last++] = (struct wet_last){u, l->stmt[u] - 1};
	}
	if (l)
		free(l->value_inputs);
	free(l);
	return fine;
}

/* --- an execution ---------------------------------------------------------------------------- */

static bool put_time(struct wet_graph *g, struct wet_node *n)
{
	if (n->executions == n->room_times) {
		size_t room = 2 * n->room_times + 2;
		uint32_t *times = realloc(n->times, room * sizeof(*times));
		if (!times)
			return false;
		n->times = times;
		n->room_times = room;
	}
	n->times[n->executions] = ++g->totals.paths;
	return true;
}

static bool put_values(struct wet_graph *g, struct wet_node *n)
{
	uint64_t values[MAX_RESULTS / 64];
	for (uint32_t i = 0; i < n->n_values; i++)
		values[i] = g->results[n->order[i]];
	for (uint32_t k = 0, first = 0; k < n->n_groups; first += n->groups[k++].width)
		if (!wet_group_add(&n->groups[k], values + first))
			return false;
	g->totals.values += n->n_values;
	return true;
}

static void put_edge(struct wet_graph *g, uint32_t node, uint32_t stmt, uint32_t operand,
		     const struct maker *from, uint32_t *last)
{
	if (!from->stmt)
		return;
	struct wet_edge e = {.to = g->nodes[node].first_stmt + stmt,
			     .from = from->stmt - 1,
			     .to_node = node,
			     .from_node = g->node_of[from->stmt - 1],
			     .operand = operand};
	g->totals.dependences++;
	if (!wet_edges_add(&g->edges, &e, g->nodes[node].executions, from->time, last))
		g->no_memory = true;
}

static bool room_for_defs(struct wet_graph *g, uint32_t last)
{
	if (last < g->room_defs)
		return true;
	uint32_t room = last + last / 2 + 4096;
	struct maker *defs = realloc(g->defs, room * sizeof(*defs));
	if (!defs)
		return false;
	memset(defs + g->room_defs, 0, (room - g->room_defs) * sizeof(*defs));
	g->defs = defs;
	g->room_defs = room;
	return true;
}

static void put_loads(struct wet_graph *g, const struct dep_trace *t, uint32_t node, uint32_t stmt,
		      uint64_t load, unsigned n, uint32_t *last)
{
	enum { MEMORY = 256 }; /* operands below are registers */
	for (unsigned i = 0; i < n; i++) {
		uint32_t k;
		const uint32_t *defs = dep_trace_load(t, &t->loads.at[load + i], &k);
		for (uint32_t d = 0; d < k; d++)
			if (defs[d] < g->room_defs)
				put_edge(g, node, stmt, MEMORY + i, &g->defs[defs[d]], &last[i]);
	}
}

/* Statement by statement, so that a load finds what the same execution has stored before. */
static void put_memory(struct wet_graph *g, const struct dep_trace *t, uint32_t node,
		       uint32_t n_blocks)
{
	uint64_t load = g->begin.load;
	uint32_t def = g->begin.def, string = g->begin.string, s = 0;
	uint32_t base = g->nodes[node].first_stmt, now = g->nodes[node].executions;
	if (!room_for_defs(g, t->n_defs)) {
		g->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < n_blocks; i++)
		for (unsigned k = 0; k < g->blocks[i]->n_insns; k++, s++) {
			const struct dep_insn *d = &g->blocks[i]->insns[k];
			uint32_t made = d->n_stores;
			if (d->string)
				made += t->events[t->strings.at[string++]].n_defs;
			put_loads(g, t, node, s, load, d->n_loads,
				  g->nodes[node].load_edges + (load - g->begin.load));
			load += d->n_loads;
			for (uint32_t m = 0; m < made; m++)
				g->defs[++def] = (struct maker){base + s + 1, now};
		}
}

static void put_registers(struct wet_graph *g, uint32_t node)
{
	struct wet_node *n = &g->nodes[node];
	const struct maker *before = NULL;
	uint32_t stmt = UINT32_MAX;
	for (uint32_t i = 0; i < n->n_outer; i++) {
		const struct maker *from = &g->units[n->outer[i].unit];
		bool same = before && stmt == n->outer[i].stmt && before->stmt == from->stmt &&
			    before->time == from->time;
		if (!same)
			put_edge(g, node, n->outer[i].stmt, n->outer[i].unit, from,
				 &n->outer[i].edge);
		before = from;
		stmt = n->outer[i].stmt;
	}
	for (uint32_t i = 0; i < n->n_last; i++)
		g->units[n->last[i].unit] =
			(struct maker){n->first_stmt + n->last[i].stmt + 1, n->executions};
	g->totals.dependences += n->n_inner;
}

static bool put_next(struct wet_graph *g, uint32_t node)
{
	struct wet_node *last = g->last != UINT32_MAX ? &g->nodes[g->last] : NULL;
	g->first = last ? g->first : node;
	g->last = node;
	for (uint32_t i = 0; last && i < last->n_next; i++)
		if (last->next[i] == node)
			return true;
	if (!last)
		return true;
	uint32_t *next = realloc(last->next, (last->n_next + 1) * sizeof(*next));
	if (!next)
		return false;
	last->next = next;
	next[last->n_next++] = node;
	return true;
}

/* The blocks of a path are items one behind the other. */
static void note_items(struct wet_graph *g, uint32_t node, uint32_t n_blocks)
{
	uint64_t item = g->begin.item;
	uint32_t stmt = g->nodes[node].first_stmt;
	if (item + n_blocks >= UINT32_MAX || item < g->last_of.n ||
	    !VEC_RESERVE(&g->last_of, (uint32_t)(item + n_blocks - g->last_of.n))) {
		g->no_memory = true;
		return;
	}
	for (; g->last_of.n < item; g->last_of.n++)
		g->last_of.at[g->last_of.n] = (struct maker){0};
	for (uint32_t i = 0; i < n_blocks; i++) {
		stmt += g->blocks[i]->n_insns;
		g->last_of.at[g->last_of.n++] = (struct maker){stmt, g->nodes[node].executions};
	}
}

/* What block @b, whose last statement is @last, was decided by: a word a segment. */
static void put_decided(struct wet_graph *g, const struct slice_control *c,
			const struct dep_block *b, const struct maker *last, uint64_t word)
{
	const struct control_segments *s = &c->blocks[b->block->number];
	uint32_t first = last->stmt - b->n_insns; /* the number of the block's first statement */
	for (unsigned i = 0; i <= s->n; i++) {
		uint32_t parent = c->parents[word + i];
		const struct maker *by =
			parent && parent <= g->last_of.n ? &g->last_of.at[parent - 1] : NULL;
		if (!by || !by->stmt)
			continue;
		struct wet_edge e = {.to = first + (i ? s->at[i - 1] : 0),
				     .from = by->stmt - 1,
				     .to_node = g->node_of[first],
				     .from_node = g->node_of[by->stmt - 1],
				     .operand = WET_CONTROL};
		g->totals.dependences++;
		g->totals.decided++;
		uint32_t any = 0;
		g->no_memory |= !wet_edges_add(&g->edges, &e, last->time, by->time, &any);
	}
}

static void put_control(struct wet_graph *g, const struct dep_trace *t,
			const struct slice_control *c)
{
	uint64_t word = 0;
	for (uint64_t i = 0; i < t->items.n && i < g->last_of.n && !g->no_memory; i++) {
		uint32_t item = t->items.at[i];
		if (g->last_of.at[i].stmt)
			put_decided(g, c, t->blocks[item], &g->last_of.at[i], word);
		word += control_words(c, item);
	}
}

static void end_path(struct wet_graph *g, const struct dep_trace *t)
{
	uint32_t n_blocks = g->paths.n_now;
	bool fresh;
	if (!n_blocks || g->no_memory)
		return;
	uint32_t node = wet_paths_end(&g->paths, &fresh);
	if (node != UINT32_MAX && node >= g->room_nodes) {
		uint32_t room = 2 * g->room_nodes + 256;
		struct wet_node *nodes = realloc(g->nodes, room * sizeof(*nodes));
		if (nodes)
			memset(nodes + g->room_nodes, 0, (room - g->room_nodes) * sizeof(*nodes));
		g->nodes = nodes ? nodes : g->nodes;
		g->room_nodes = nodes ? room : g->room_nodes;
	}
	if (node >= g->room_nodes || (fresh && !make_node(g, &g->nodes[node], n_blocks)) ||
	    !put_time(g, &g->nodes[node]) || !put_values(g, &g->nodes[node]) ||
	    !put_next(g, node)) {
		g->no_memory = true;
		return;
	}
	put_memory(g, t, node, n_blocks);
	put_registers(g, node);
	if (g->control)
		note_items(g, node, n_blocks);
	g->totals.statements += g->nodes[node].n_stmts;
	g->nodes[node].executions++;
}

void wet_graph_watch(void *graph, const struct dep_trace *t, const struct dep_mark *before,
		     const struct dep_block *block, const struct dep_event *event,
		     const uint64_t *addresses, const uint64_t *results)
{
	struct wet_graph *g = graph;
	(void)addresses;
	if (event) {
		end_path(g, t);
		struct dep_units writes = dep_event_writes(event);
		for (unsigned u = 0; u < UNITS; u++)
			if (writes.w[u / 64] >> u % 64 & 1)
				g->units[u] = (struct maker){0};
		return;
	}
	if (g->ends || !wet_paths_goes_on(&g->paths, block->ip) ||
	    g->n_results + block->n_results > MAX_RESULTS / 64)
		end_path(g, t);
	if (before->count < g->from || before->count >= g->to || g->no_memory)
		return;
	if (!g->paths.n_now) {
		g->begin = *before;
		g->n_results = 0;
	}
	g->blocks[g->paths.n_now] = block;
	memcpy(g->results + g->n_results, results, 8 * (size_t)block->n_results);
	g->n_results += block->n_results;
	g->totals.blocks++;
	wet_paths_add(&g->paths, block->block->number, block->ip);
	g->ends = block->last_kind == VALUE_INSN_CALL || block->last_kind == VALUE_INSN_CALL_IND ||
		  block->last_kind == VALUE_INSN_RET;
}

int wet_graph_finish(struct wet_graph *g, const struct dep_trace *trace,
		     const struct slice_control *control)
{
	end_path(g, trace);
	if (control)
		put_control(g, trace, control);
	uint32_t *executions = calloc(g->paths.n + 1, sizeof(*executions));
	for (uint32_t i = 0; executions && i < g->paths.n; i++)
		executions[i] = g->nodes[i].executions;
	bool fine = executions && !g->no_memory && wet_edges_finish(&g->edges, executions);
	free(executions);
	return fine ? 0 : -ENOMEM;
}

const struct wet_node *wet_graph_nodes(const struct wet_graph *g, uint32_t *n)
{
	*n = g->paths.n;
	return g->nodes;
}

const struct wet_stmt *wet_graph_stmts(const struct wet_graph *g, uint32_t *n)
{
	*n = g->n_stmts;
	return g->stmts;
}

const struct wet_edges *wet_graph_edges(const struct wet_graph *g)
{
	return &g->edges;
}

void wet_graph_totals(const struct wet_graph *g, struct wet_totals *out)
{
	*out = g->totals;
}

uint32_t wet_graph_first(const struct wet_graph *g)
{
	return g->first;
}
