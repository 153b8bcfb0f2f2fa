// SPDX-License-Identifier: LGPL-2.1-or-later
/* realizable.c: see realizable.h. Both conditions are checked by walks through nodes and edges
 * without a witness. A stamp per walk saves clearing, so a walk costs no more than the nodes that
 * it visits. */
#include "offline/place/realizable.h"

#include <errno.h>
#include <stdlib.h>

struct realizable {
	const struct flow_graph *g;
	/* One walk: per node, valid where its stamp is the walk's. */
	uint32_t *stamp, now;
	uint32_t *label;  /* which edge of the fork the walk left by */
	uint32_t *parent; /* the edge that it came by; PUGMARK_NONE: from the start */
	uint32_t *queue;
	uint32_t *back_stamp, *back_queue; /* a walk backwards */
	/* The paths' condition: after which edge of the fork each witness was seen to come first.
	 */
	uint32_t *seen_edge, *seen_edge_stamp, *seen_node, *seen_node_stamp;
	uint8_t *colour; /* cycles: 0 new, 1 open, 2 done */
	uint32_t *next;
	uint32_t *path;	     /* edges of a violation */
	const uint8_t *only; /* forks that are asked about; NULL: all */
};

int realizable_new(const struct flow_graph *g, struct realizable **out)
{
	struct realizable *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->g = g;
	size_t n = g->n_nodes + 1, m = g->n_edges + 1;
	uint32_t **of_nodes[] = {&r->stamp,	&r->label,	     &r->parent,
				 &r->queue,	&r->back_stamp,	     &r->back_queue,
				 &r->seen_node, &r->seen_node_stamp, &r->next};
	bool ok = true;
	for (size_t i = 0; i < sizeof(of_nodes) / sizeof(*of_nodes); i++) {
		*of_nodes[i] = calloc(n, sizeof(uint32_t));
		ok &= *of_nodes[i] != NULL;
	}
	r->seen_edge = calloc(m, sizeof(uint32_t));
	r->seen_edge_stamp = calloc(m, sizeof(uint32_t));
	r->path = calloc(2 * n, sizeof(uint32_t));
	r->colour = calloc(n, 1);
	if (ok && r->seen_edge && r->seen_edge_stamp && r->path && r->colour) {
		*out = r;
		return 0;
	}
	realizable_free(r);
	return -ENOMEM;
}

void realizable_free(struct realizable *r)
{
	if (!r)
		return;
	void *heap[] = {r->stamp,      r->label,      r->parent,    r->queue,
			r->back_stamp, r->back_queue, r->seen_edge, r->seen_edge_stamp,
			r->path,       r->colour,     r->seen_node, r->seen_node_stamp,
			r->next};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
	free(r);
}

static void report(struct realizable *r, struct violation *v, uint8_t kind, uint32_t fork,
		   uint32_t join, uint32_t n_edges)
{
	if (v)
		*v = (struct violation){kind, fork, join, r->path, n_edges};
}

/* Adds to the path the edges by which the walk from @fork came to @node, last first. */
static uint32_t trail(const struct realizable *r, uint32_t fork, uint32_t node, uint32_t n)
{
	do {
		uint32_t e = r->parent[node];
		r->path[n++] = e;
		node = r->g->edges[e].from;
	} while (node != fork);
	return n;
}

struct fork_walk {
	const struct witness_set *w;
	uint32_t fork, n; /* nodes in the queue */
	struct violation *violation;
};

/* The walk goes over edge @e, having left the fork by edge @label; false: it meets one that left by
 * another. */
static bool go_over(struct realizable *r, struct fork_walk *walk, uint32_t e, uint32_t label)
{
	uint32_t to = r->g->edges[e].to;
	if (walk->w->edges[e])
		return true;
	if (r->stamp[to] != r->now) {
		r->stamp[to] = r->now;
		r->label[to] = label;
		r->parent[to] = e;
		r->queue[walk->n++] = to;
		return true;
	}
	if (r->label[to] == label)
		return true;
	if (walk->violation) {
		uint32_t n = trail(r, walk->fork, to, 0);
		r->path[n++] = e;
		if (e != label)
			n = trail(r, walk->fork, r->g->edges[e].from, n);
		report(r, walk->violation, VIOLATION_DIAMOND, walk->fork, to, n);
	}
	return false;
}

/* Whether the silent walks by different edges of @fork never meet. */
static bool fork_holds(struct realizable *r, const struct witness_set *w, uint32_t fork,
		       struct violation *v)
{
	const struct fg_node *f = &r->g->nodes[fork];
	struct fork_walk walk = {.w = w, .fork = fork, .violation = v};
	if (f->n_out < 2 || w->ways[fork])
		return true;
	r->now++;
	for (uint32_t e = f->out; e < f->out + f->n_out; e++)
		if (!go_over(r, &walk, e, e))
			return false;
	for (uint32_t done = 0; done < walk.n; done++) {
		uint32_t node = r->queue[done];
		if (node == fork || witness_on_node(w, node))
			continue;
		const struct fg_node *at = &r->g->nodes[node];
		for (uint32_t e = at->out; e < at->out + at->n_out; e++)
			if (!go_over(r, &walk, e, r->label[node]))
				return false;
	}
	return true;
}

static bool silent(const struct witness_set *w, const struct flow_graph *g, uint32_t edge)
{
	return !w->edges[edge] && !witness_on_node(w, g->edges[edge].to);
}

/* Looks for a silent cycle through nodes that a depth-first walk from @start meets. */
static bool cycles_hold(struct realizable *r, const struct witness_set *w, uint32_t start,
			struct violation *v)
{
	const struct flow_graph *g = r->g;
	uint32_t depth = 0;
	if (r->colour[start] || witness_on_node(w, start))
		return true;
	r->queue[depth++] = start;
	r->colour[start] = 1;
	r->next[start] = 0;
	r->parent[start] = PUGMARK_NONE;
	while (depth) {
		uint32_t node = r->queue[depth - 1];
		if (r->next[node] == g->nodes[node].n_out) {
			r->colour[node] = 2;
			depth--;
			continue;
		}
		uint32_t e = g->nodes[node].out + r->next[node]++, to = g->edges[e].to;
		if (!silent(w, g, e) || r->colour[to] == 2)
			continue;
		if (!r->colour[to]) {
			r->colour[to] = 1;
			r->next[to] = 0;
			r->parent[to] = e;
			r->queue[depth++] = to;
			continue;
		}
		uint32_t n = 0;
		r->path[n++] = e;
		for (uint32_t at = node; at != to; at = g->edges[r->parent[at]].from)
			r->path[n++] = r->parent[at];
		report(r, v, VIOLATION_CYCLE, PUGMARK_NONE, PUGMARK_NONE, n);
		while (depth)
			r->colour[r->queue[--depth]] = 2;
		return false;
	}
	return true;
}

static bool no_silent_cycle(struct realizable *r, const struct witness_set *w, struct violation *v)
{
	for (uint32_t i = 0; i < r->g->n_nodes; i++)
		r->colour[i] = 0;
	for (uint32_t i = 0; i < r->g->n_nodes; i++)
		if (!cycles_hold(r, w, i, v))
			return false;
	return true;
}

static bool node_not_in_cycle(struct realizable *r, const struct witness_set *w, uint32_t node,
			      struct violation *v);

void realizable_only(struct realizable *r, const uint8_t *forks)
{
	r->only = forks;
}

bool realizable_fork_told(struct realizable *r, const struct witness_set *w, uint32_t fork,
			  struct violation *v)
{
	if (v)
		v->kind = VIOLATION_NONE;
	return w->ways[fork] || (node_not_in_cycle(r, w, fork, v) && fork_holds(r, w, fork, v));
}

bool realizable_holds(struct realizable *r, const struct witness_set *w, struct violation *v)
{
	if (v)
		v->kind = VIOLATION_NONE;
	for (uint32_t i = 0; r->only && i < r->g->n_nodes; i++)
		if (r->only[i] && !realizable_fork_told(r, w, i, v))
			return false;
	if (r->only)
		return true;
	if (!no_silent_cycle(r, w, v))
		return false;
	for (uint32_t i = 0; i < r->g->n_nodes; i++)
		if (!fork_holds(r, w, i, v))
			return false;
	return true;
}

/* Whether no silent cycle leads through @node. */
static bool node_not_in_cycle(struct realizable *r, const struct witness_set *w, uint32_t node,
			      struct violation *v)
{
	const struct flow_graph *g = r->g;
	uint32_t n = 0;
	if (witness_on_node(w, node))
		return true;
	r->now++;
	r->queue[n++] = node;
	for (uint32_t done = 0; done < n; done++)
		for (uint32_t k = 0; k < g->nodes[r->queue[done]].n_out; k++) {
			uint32_t e = g->nodes[r->queue[done]].out + k, to = g->edges[e].to;
			if (!silent(w, g, e) || r->stamp[to] == r->now)
				continue;
			r->stamp[to] = r->now;
			r->parent[to] = e;
			if (to != node) {
				r->queue[n++] = to;
				continue;
			}
			uint32_t edges = 0, at = node;
			do {
				r->path[edges++] = r->parent[at];
				at = g->edges[r->parent[at]].from;
			} while (at != node);
			report(r, v, VIOLATION_CYCLE, PUGMARK_NONE, PUGMARK_NONE, edges);
			return false;
		}
	return true;
}

bool realizable_holds_around(struct realizable *r, const struct witness_set *w, uint32_t node,
			     struct violation *v)
{
	const struct flow_graph *g = r->g;
	uint32_t n = 0;
	if (v)
		v->kind = VIOLATION_NONE;
	if (r->only ? r->only[node] && !realizable_fork_told(r, w, node, v)
		    : !node_not_in_cycle(r, w, node, v) || !fork_holds(r, w, node, v))
		return false;
	uint32_t now = ++r->now; /* of the walk back; forks are checked once it is over */
	r->back_stamp[node] = now;
	r->back_queue[n++] = node;
	for (uint32_t done = 0; done < n; done++) {
		uint32_t at = r->back_queue[done];
		if (at != node && witness_on_node(w, at))
			continue;
		for (uint32_t k = 0; k < g->nodes[at].n_in; k++) {
			uint32_t e = g->in_edges[g->nodes[at].in + k], from = g->edges[e].from;
			if (w->edges[e] || r->back_stamp[from] == now)
				continue;
			r->back_stamp[from] = now;
			r->back_queue[n++] = from;
		}
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t fork = r->back_queue[i];
		if (r->only ? r->only[fork] && !realizable_fork_told(r, w, fork, v)
			    : !fork_holds(r, w, fork, v))
			return false;
	}
	return true;
}

/* Notes that a witness can come first after edge @label; false if it can after another one too. */
static bool note(uint32_t *seen, uint32_t *stamp, uint32_t now, uint32_t label)
{
	if (*stamp == now)
		return *seen == label;
	*stamp = now;
	*seen = label;
	return true;
}

/* Notes what can come first after @label, an edge of a fork. */
static bool first_witnesses_differ(struct realizable *r, const struct witness_set *w,
				   uint32_t label, uint32_t fork_now)
{
	const struct flow_graph *g = r->g;
	uint32_t n = 0, walk = ++r->now;
	if (w->edges[label])
		return true; /* the edge itself, which comes after no other */
	r->queue[n++] = g->edges[label].to;
	r->stamp[g->edges[label].to] = walk;
	for (uint32_t done = 0; done < n; done++) {
		uint32_t node = r->queue[done];
		const struct fg_node *at = &g->nodes[node];
		if (witness_on_node(w, node) || !at->n_out) { /* or the end of the function */
			if (!note(&r->seen_node[node], &r->seen_node_stamp[node], fork_now, label))
				return false;
			continue;
		}
		for (uint32_t e = at->out; e < at->out + at->n_out; e++) {
			uint32_t to = g->edges[e].to;
			if (w->edges[e]) {
				if (!note(&r->seen_edge[e], &r->seen_edge_stamp[e], fork_now,
					  label))
					return false;
			} else if (r->stamp[to] != walk) {
				r->stamp[to] = walk;
				r->queue[n++] = to;
			}
		}
	}
	return true;
}

bool realizable_witnesses_differ(struct realizable *r, const struct witness_set *w)
{
	const struct flow_graph *g = r->g;
	if (!no_silent_cycle(r, w, NULL))
		return false;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		if (g->nodes[i].n_out < 2 || w->ways[i])
			continue;
		uint32_t fork_now = ++r->now;
		for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
			if (!first_witnesses_differ(r, w, g->nodes[i].out + k, fork_now))
				return false;
	}
	return true;
}
