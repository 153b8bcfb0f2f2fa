// SPDX-License-Identifier: LGPL-2.1-or-later
/* random_graph.c: see random_graph.h. */
#include "tests/support/random_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_program.h"

#define FANOUT_MAX 4

static bool has_edge(uint32_t (*pairs)[2], uint32_t n, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < n; i++)
		if (pairs[i][0] == from && pairs[i][1] == to)
			return true;
	return false;
}

/* Each node leads on to the next, or ends; forks lead anywhere besides. The exit is the last. */
static uint32_t make_edges(uint64_t *rng, uint32_t size, uint32_t (*pairs)[2])
{
	uint32_t n = 0, exit = size - 1;
	for (uint32_t i = 0; i < exit; i++) {
		uint32_t next = i + 1 < exit && !random_chance(rng, 10) ? i + 1 : exit;
		pairs[n][0] = i;
		pairs[n++][1] = next;
		if (next == exit && i + 1 < exit && !random_chance(rng, 30))
			continue; /* returns, whatever comes after it in the code */
		uint32_t more = random_chance(rng, 45) ? 1 : random_chance(rng, 10) ? 3 : 0;
		for (; more; more--) {
			uint32_t to = random_below(rng, size);
			if (!has_edge(pairs, n, i, to)) {
				pairs[n][0] = i;
				pairs[n++][1] = to;
			}
		}
	}
	return n;
}

/* Counts random walks that reach the exit. */
static void count_walks(struct flow_graph *g, uint64_t *rng)
{
	uint32_t *path = malloc(400 * sizeof(*path));
	for (uint32_t i = 0; i < g->n_nodes; i++)
		g->nodes[i].freq = 0;
	for (uint32_t e = 0; e < g->n_edges; e++)
		g->edges[e].freq = 0;
	for (int walk = 0; walk < 20; walk++) {
		uint32_t n = 0, node = g->entry;
		while (node != g->exit && n < 400 && g->nodes[node].n_out) {
			uint32_t e = g->nodes[node].out + random_below(rng, g->nodes[node].n_out);
			path[n++] = e;
			node = g->edges[e].to;
		}
		if (node != g->exit)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			g->edges[path[i]].freq++;
			g->nodes[g->edges[path[i]].from].freq++;
		}
		g->nodes[g->exit].freq++;
	}
	free(path);
}

void random_graph(struct flow_graph *g, uint64_t seed, uint32_t size)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull + 1;
	size = size < 2 ? 2 : size;
	uint32_t(*pairs)[2] = malloc((size_t)size * FANOUT_MAX * sizeof(*pairs));
	uint32_t n = make_edges(&rng, size, pairs);
	if (flow_graph_init(g, size, (const uint32_t(*)[2])pairs, n, 0, size - 1))
		abort();
	free(pairs);
	count_walks(g, &rng);
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		struct fg_node *node = &g->nodes[i];
		bool shows = node->n_out > 1 && !random_chance(&rng, 20);
		node->weight = node->freq;
		node->way_weight = shows ? node->freq : INFINITY;
	}
	for (uint32_t e = 0; e < g->n_edges; e++)
		g->edges[e].weight = g->edges[e].freq;
}

/* What a witness says: which it is and, on a way out, by which edge. */
struct said {
	uint32_t what, edge;
};

/* What is said on leaving @node by @edge, the node itself included unless @start. */
static uint32_t speak(const struct flow_graph *g, const struct witness_set *w, uint32_t edge,
		      struct said *out)
{
	uint32_t n = 0, node = g->edges[edge].from;
	if (w->nodes[node])
		out[n++] = (struct said){node, 0};
	if (w->ways[node])
		out[n++] = (struct said){g->n_nodes + node, edge};
	if (w->edges[edge])
		out[n++] = (struct said){2 * g->n_nodes + edge, 0};
	return n;
}

/* Whether @said can be the next thing said, from the moment that @edge is gone over; the end of the
 * walk, where nothing is said any more, is @said NULL. */
static bool can_say(const struct flow_graph *g, const struct witness_set *w, uint32_t edge,
		    const struct said *said, uint8_t *seen, uint32_t *queue)
{
	if (w->edges[edge])
		return said && said->what == 2 * g->n_nodes + edge;
	uint32_t n = 0;
	bool can = false;
	queue[n++] = g->edges[edge].to;
	seen[g->edges[edge].to] = 1;
	for (uint32_t done = 0; done < n && !can; done++) {
		uint32_t node = queue[done];
		if (w->nodes[node]) {
			can = said && said->what == node;
			continue;
		}
		if (w->ways[node]) {
			can = said && said->what == g->n_nodes + node;
			continue;
		}
		can = !said && !g->nodes[node].n_out;
		for (uint32_t k = 0; k < g->nodes[node].n_out; k++) {
			uint32_t e = g->nodes[node].out + k, to = g->edges[e].to;
			if (w->edges[e]) {
				can |= said && said->what == 2 * g->n_nodes + e;
			} else if (!seen[to]) {
				seen[to] = 1;
				queue[n++] = to;
			}
		}
	}
	while (n)
		seen[queue[--n]] = 0;
	return can;
}

struct recovery {
	const struct flow_graph *g;
	const struct witness_set *w;
	const struct said *said;
	uint32_t n_said, next;
	uint8_t *seen;
	uint32_t *queue;
};

/* The edge by which the walk must have left @node, or PUGMARK_NONE where that is not certain. */
static uint32_t recover_edge(struct recovery *r, uint32_t node)
{
	const struct fg_node *n = &r->g->nodes[node];
	if (r->w->nodes[node])
		r->next++;
	if (r->w->ways[node])
		return r->next < r->n_said ? r->said[r->next++].edge : PUGMARK_NONE;
	uint32_t found = PUGMARK_NONE, many = 0;
	const struct said *said = r->next < r->n_said ? &r->said[r->next] : NULL;
	for (uint32_t e = n->out; e < n->out + n->n_out; e++)
		if (can_say(r->g, r->w, e, said, r->seen, r->queue)) {
			found = e;
			many++;
		}
	if (many != 1)
		return PUGMARK_NONE;
	if (r->w->edges[found])
		r->next++;
	return found;
}

bool graph_walk_recovers(const struct flow_graph *g, const struct witness_set *w, uint64_t *rng,
			 uint32_t limit, uint64_t *steps, uint64_t *events)
{
	uint32_t *path = malloc((limit + 1) * sizeof(*path)), n = 0, node = g->entry;
	struct said *said = malloc(3 * (limit + 1) * sizeof(*said));
	struct recovery r = {.g = g, .w = w, .said = said};
	r.seen = calloc(g->n_nodes + 1, 1);
	r.queue = malloc((g->n_nodes + 1) * sizeof(*r.queue));
	uint32_t decided = 0;
	while (n < limit && g->nodes[node].n_out) {
		uint32_t e = g->nodes[node].out + random_below(rng, g->nodes[node].n_out);
		uint32_t more = speak(g, w, e, said + r.n_said);
		r.n_said += more;
		path[n++] = e;
		node = g->edges[e].to;
		if (more) /* what follows the last witness of a walk that goes on is open */
			decided = w->ways[g->edges[e].from] || w->edges[e] ? n : n - 1;
	}
	if (!g->nodes[node].n_out) {
		decided = n;
		if (w->nodes[node])
			said[r.n_said++] = (struct said){node, 0};
	}
	bool same = true;
	node = g->entry;
	for (uint32_t i = 0; i < decided && same; i++) {
		same = recover_edge(&r, node) == path[i];
		node = g->edges[path[i]].to;
	}
	*steps += n;
	*events += r.n_said;
	free(path);
	free(said);
	free(r.seen);
	free(r.queue);
	return same;
}

bool graph_violation_is_silent(const struct flow_graph *g, const struct witness_set *w,
			       const struct violation *v)
{
	int *balance = calloc(g->n_nodes, sizeof(*balance));
	bool ok = v->n_edges > 0;
	uint32_t left_fork = 0;
	for (uint32_t i = 0; i < v->n_edges; i++) {
		const struct fg_edge *e = &g->edges[v->edges[i]];
		bool fork = v->kind == VIOLATION_DIAMOND && e->from == v->fork;
		ok &= !w->edges[v->edges[i]] && !w->ways[e->from];
		ok &= fork || !w->nodes[e->from];
		left_fork += fork;
		balance[e->from]--;
		balance[e->to]++;
		for (uint32_t k = 0; k < i; k++)
			ok &= v->edges[k] != v->edges[i];
	}
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		int want = 0;
		if (v->kind == VIOLATION_DIAMOND)
			want = 2 * (i == v->join) - 2 * (i == v->fork);
		ok &= balance[i] == want;
	}
	free(balance);
	return ok && (v->kind == VIOLATION_CYCLE || left_fork == 2);
}

bool graph_is_forest_without(const struct flow_graph *g, const uint8_t *without)
{
	uint32_t *parent = malloc((g->n_nodes + 1) * sizeof(*parent));
	bool forest = true;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		parent[i] = i;
	for (uint32_t e = 0; e < g->n_edges; e++) {
		uint32_t a = g->edges[e].from, b = g->edges[e].to;
		if (without[e])
			continue;
		while (parent[a] != a)
			a = parent[a];
		while (parent[b] != b)
			b = parent[b];
		forest &= a != b;
		parent[a] = b;
	}
	free(parent);
	return forest;
}
