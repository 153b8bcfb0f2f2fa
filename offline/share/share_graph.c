// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_graph.c: see share_graph.h. Weights are those of the sites; a site that reads a jump is one
 * on the way out of its node, any other one on the node itself. */
#include "offline/share/share_graph.h"

#include "offline/base/search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct edges {
	uint32_t (*at)[2];
	uint32_t n, cap;
	uint32_t *stamp, now; /* per node: already a successor of the one that is looked at */
};

static int add_edge(struct edges *e, uint32_t from, uint32_t to)
{
	if (e->stamp[to] == e->now)
		return 0;
	e->stamp[to] = e->now;
	if (e->n == e->cap) {
		uint32_t cap = e->cap ? 2 * e->cap : 64;
		void *at = realloc(e->at, cap * sizeof(*e->at));
		if (!at)
			return -ENOMEM;
		e->at = at;
		e->cap = cap;
	}
	e->at[e->n][0] = from;
	e->at[e->n++][1] = to;
	return 0;
}

uint32_t share_graph_after(const struct share_graph *g, const struct pugmark_plan *plan,
			   uint32_t decision)
{
	uint32_t n = plan->funcs[g->func].n_nodes;
	if (decision == PUGMARK_NONE || !plan->decisions[decision].n)
		return PUGMARK_NONE;
	if (plan->decisions[decision].n == 1) {
		uint32_t node = plan->alternatives[plan->decisions[decision].first];
		return node ? node - g->first : n + 1;
	}
	return n + 2 + SEARCH_FIRST_NOT(0, g->n_decisions, i, g->decisions[i] < decision);
}

/* The decisions that follow a node: 0 to n of them. */
static uint32_t decision_after(const struct pugmark_plan *plan, const struct pugmark_plan_node *n,
			       uint32_t i)
{
	if (n->kind == PUGMARK_NODE_KIND_TARGET)
		return pugmark_node_targets(plan, n)[i].decision;
	return i ? pugmark_node_taken(n) : pugmark_node_next(n);
}

static uint32_t n_decisions_after(const struct pugmark_plan_node *n)
{
	if (n->kind == PUGMARK_NODE_KIND_OPAQUE ||
	    n->flags & (PUGMARK_NODE_TAIL | PUGMARK_NODE_NORETURN) ||
	    n->kind == PUGMARK_NODE_KIND_RETURN)
		return 0;
	if (n->kind == PUGMARK_NODE_KIND_TARGET)
		return pugmark_node_n_targets(n);
	return n->kind == PUGMARK_NODE_KIND_BRANCH ? 2 : 1;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void note_decision(struct share_graph *g, const struct pugmark_plan *plan, uint32_t decision)
{
	if (decision != PUGMARK_NONE && plan->decisions[decision].n > 1)
		g->decisions[g->n_decisions++] = decision;
}

/* The decisions between several alternatives. */
static int find_decisions(struct share_graph *g, const struct pugmark_plan *plan)
{
	const struct pugmark_plan_func *f = &plan->funcs[g->func];
	uint32_t n = 1, unique = 0;
	for (uint32_t i = f->node; i < f->node + f->n_nodes; i++)
		n += n_decisions_after(&plan->nodes[i]);
	g->decisions = malloc(n * sizeof(*g->decisions));
	if (!g->decisions)
		return -ENOMEM;
	note_decision(g, plan, f->entry);
	for (uint32_t i = f->node; i < f->node + f->n_nodes; i++)
		for (uint32_t k = 0; k < n_decisions_after(&plan->nodes[i]); k++)
			note_decision(g, plan, decision_after(plan, &plan->nodes[i], k));
	qsort(g->decisions, g->n_decisions, sizeof(*g->decisions), by_number);
	for (uint32_t i = 0; i < g->n_decisions; i++)
		if (!unique || g->decisions[unique - 1] != g->decisions[i])
			g->decisions[unique++] = g->decisions[i];
	g->n_decisions = unique;
	return 0;
}

static bool is_call(const struct pugmark_plan_node *n)
{
	return n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
	       n->kind == PUGMARK_NODE_KIND_LEAF;
}

/* Whether each event of the function says which activation it is of: where a recursive one goes on,
 * its frame tells. */
static bool frames_tell(const struct pugmark_plan *plan, uint32_t func)
{
	const struct pugmark_plan_func *f = &plan->funcs[func];
	for (uint32_t i = f->node; i < f->node + f->n_nodes; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[i];
		if (n->site != PUGMARK_NONE &&
		    (n->flags & PUGMARK_NODE_CALLEE_CFA ||
		     plan->sites[n->site].cfa_reg == PUGMARK_CFA_UNKNOWN))
			return false;
	}
	return true;
}

static bool comes_back(const struct pugmark_plan_node *n, const uint32_t *component,
		       uint32_t anywhere, uint32_t func)
{
	if (n->kind == PUGMARK_NODE_KIND_CALL)
		return component[n->callee] == component[func];
	return n->kind == PUGMARK_NODE_KIND_UNKNOWN && anywhere == component[func];
}

/* What comes after the node in its function. */
static int add_node(struct edges *e, const struct share_graph *g, const struct pugmark_plan *plan,
		    uint32_t node)
{
	const struct pugmark_plan_node *n = &plan->nodes[g->first + node];
	uint32_t exit = plan->funcs[g->func].n_nodes + 1;
	int err = 0;
	e->now++;
	if (n->kind == PUGMARK_NODE_KIND_OPAQUE)
		return 0;
	if (!n_decisions_after(n) && n->kind != PUGMARK_NODE_KIND_TARGET)
		return add_edge(e, node, exit);
	for (uint32_t i = 0; i < n_decisions_after(n) && !err; i++) {
		uint32_t to = share_graph_after(g, plan, decision_after(plan, n, i));
		if (to != PUGMARK_NONE)
			err = add_edge(e, node, to);
	}
	return err;
}

static int add_decision(struct edges *e, const struct share_graph *g,
			const struct pugmark_plan *plan, uint32_t index)
{
	const struct pugmark_plan_decision *d = &plan->decisions[g->decisions[index]];
	uint32_t n = plan->funcs[g->func].n_nodes;
	int err = 0;
	e->now++;
	for (uint32_t i = 0; i < d->n && !err; i++) {
		uint32_t node = plan->alternatives[d->first + i];
		err = add_edge(e, n + 2 + index, node ? node - g->first : n + 1);
	}
	return err;
}

static int add_edges(struct share_graph *g, struct edges *e, const struct pugmark_plan *plan,
		     const uint32_t *component, uint32_t anywhere)
{
	const struct pugmark_plan_func *f = &plan->funcs[g->func];
	uint32_t entry = f->n_nodes, exit = entry + 1, elsewhere = exit + 1 + g->n_decisions;
	int err = 0;
	for (uint32_t i = 0; i < f->n_nodes && !err; i++) {
		uint32_t had = e->n;
		err = add_node(e, g, plan, i);
		g->told[i] = e->n - had > 1;
	}
	for (uint32_t i = 0; i < g->n_decisions && !err; i++) {
		err = add_decision(e, g, plan, i);
		g->told[f->n_nodes + 2 + i] = 1;
	}
	uint32_t to = share_graph_after(g, plan, f->entry);
	e->now++;
	if (!err && to != PUGMARK_NONE)
		err = add_edge(e, entry, to);
	e->now++;
	if (!err)
		err = add_edge(e, exit, entry);
	if (!err)
		err = add_edge(e, exit, elsewhere);
	bool told = frames_tell(plan, g->func);
	g->by_frame = told;
	for (uint32_t i = f->node; i < f->node + f->n_nodes; i++)
		g->recursive |= is_call(&plan->nodes[i]) &&
				comes_back(&plan->nodes[i], component, anywhere, g->func);
	/* Where a call comes back into the function, its exit leads to behind that call. */
	for (uint32_t i = 0; i < f->n_nodes && !err && !told; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[f->node + i];
		if (!is_call(n) || !comes_back(n, component, anywhere, g->func))
			continue;
		to = n_decisions_after(n) ? share_graph_after(g, plan, pugmark_node_next(n))
					  : PUGMARK_NONE;
		if (to != PUGMARK_NONE)
			err = add_edge(e, exit, to);
	}
	for (uint32_t i = 0; i < f->n_nodes && !err; i++) {
		const struct pugmark_plan_node *n = &plan->nodes[f->node + i];
		e->now++;
		if (!told && is_call(n) && comes_back(n, component, anywhere, g->func))
			err = add_edge(e, i, entry);
		if (!err && is_call(n) && n->kind != PUGMARK_NODE_KIND_LEAF)
			err = add_edge(e, i, elsewhere);
	}
	return err;
}

static void weigh(struct share_graph *g, const struct pugmark_plan *plan, const float *site_ns)
{
	const struct pugmark_plan_func *f = &plan->funcs[g->func];
	for (uint32_t i = 0; i < g->flow.n_nodes; i++) {
		struct fg_node *n = &g->flow.nodes[i];
		uint32_t site = i < f->n_nodes ? plan->nodes[f->node + i].site : PUGMARK_NONE;
		n->weight = n->way_weight = INFINITY;
		if (site == PUGMARK_NONE)
			continue;
		uint8_t kind = plan->sites[site].kind;
		bool call = is_call(&plan->nodes[f->node + i]);
		bool way =
			kind == PUGMARK_WITNESS_BRANCH || (kind == PUGMARK_WITNESS_TARGET && !call);
		*(way ? &n->way_weight : &n->weight) = site_ns[site];
	}
	for (uint32_t i = 0; i < g->flow.n_edges; i++)
		g->flow.edges[i].weight = INFINITY;
}

int share_graph_init(struct share_graph *g, const struct pugmark_plan *plan, uint32_t func,
		     const uint32_t *component, uint32_t anywhere, const float *site_ns)
{
	const struct pugmark_plan_func *f = &plan->funcs[func];
	*g = (struct share_graph){.func = func, .first = f->node};
	int err = find_decisions(g, plan);
	uint32_t n = f->n_nodes + 3 + g->n_decisions;
	struct edges e = {.stamp = err ? NULL : calloc(n, sizeof(*e.stamp))};
	g->told = err ? NULL : calloc(n, 1);
	if (!err)
		err = e.stamp && g->told ? add_edges(g, &e, plan, component, anywhere) : -ENOMEM;
	if (!err)
		err = flow_graph_init(&g->flow, n, (const uint32_t(*)[2])e.at, e.n, f->n_nodes,
				      f->n_nodes + 1);
	if (!err)
		weigh(g, plan, site_ns);
	for (uint32_t i = 0; !err && i < n; i++)
		g->n_told += g->told[i];
	free(e.at);
	free(e.stamp);
	if (err)
		share_graph_deinit(g);
	return err;
}

void share_graph_deinit(struct share_graph *g)
{
	flow_graph_deinit(&g->flow);
	free(g->told);
	free(g->decisions);
	*g = (struct share_graph){0};
}

/* Tarjan's components, without recursion. Vertex n_funcs is a call that nobody knows. */
struct tarjan {
	const struct pugmark_plan *plan;
	uint32_t *component;
	uint32_t *index, *low, *stack, *path, *next;
	uint32_t n_stack, counter, components;
};

/* Successor number @i of @v, or PUGMARK_NONE past the last; PUGMARK_NONE - 1: nothing there. */
static uint32_t callee_at(const struct tarjan *t, uint32_t v, uint32_t i)
{
	uint32_t n_funcs = t->plan->n_funcs;
	if (v == n_funcs) {
		if (i >= n_funcs)
			return PUGMARK_NONE;
		return t->plan->funcs[i].flags & PUGMARK_PLAN_FUNC_ENTERED ? i : PUGMARK_NONE - 1;
	}
	const struct pugmark_plan_func *f = &t->plan->funcs[v];
	if (i >= f->n_nodes)
		return PUGMARK_NONE;
	const struct pugmark_plan_node *n = &t->plan->nodes[f->node + i];
	if (n->kind == PUGMARK_NODE_KIND_CALL)
		return n->callee;
	return n->kind == PUGMARK_NODE_KIND_UNKNOWN || n->kind == PUGMARK_NODE_KIND_OPAQUE
		       ? n_funcs
		       : PUGMARK_NONE - 1;
}

static void push_vertex(struct tarjan *t, uint32_t v, uint32_t *depth)
{
	t->index[v] = t->low[v] = ++t->counter;
	t->stack[t->n_stack++] = v;
	t->path[(*depth)++] = v;
}

static void close_component(struct tarjan *t, uint32_t v)
{
	uint32_t w;
	do {
		w = t->stack[--t->n_stack];
		t->component[w] = t->components;
	} while (w != v);
	t->components++;
}

static void visit(struct tarjan *t, uint32_t start)
{
	uint32_t depth = 0;
	push_vertex(t, start, &depth);
	while (depth) {
		uint32_t v = t->path[depth - 1], to = callee_at(t, v, t->next[v]);
		if (to == PUGMARK_NONE) {
			if (t->low[v] == t->index[v])
				close_component(t, v);
			if (--depth && t->low[v] < t->low[t->path[depth - 1]])
				t->low[t->path[depth - 1]] = t->low[v];
			continue;
		}
		t->next[v]++;
		if (to == PUGMARK_NONE - 1)
			continue;
		if (!t->index[to])
			push_vertex(t, to, &depth);
		else if (t->component[to] == PUGMARK_NONE && t->index[to] < t->low[v])
			t->low[v] = t->index[to];
	}
}

int share_components(const struct pugmark_plan *plan, uint32_t *component)
{
	uint32_t n = plan->n_funcs + 1;
	uint32_t *heap = calloc(5 * (size_t)n, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	struct tarjan t = {
		.plan = plan,
		.component = component,
		.index = heap,
		.low = heap + n,
		.stack = heap + 2 * (size_t)n,
		.path = heap + 3 * (size_t)n,
		.next = heap + 4 * (size_t)n,
	};
	memset(component, 0xff, n * sizeof(*component));
	for (uint32_t v = 0; v < n; v++)
		if (!t.index[v])
			visit(&t, v);
	free(heap);
	return 0;
}
