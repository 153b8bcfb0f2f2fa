// SPDX-License-Identifier: LGPL-2.1-or-later
/* sizes.c: see sizes.h. Uncompressed, a statement's timestamp and each of a label are four bytes, a
 * value eight: the paper's, but for values, which are words of 32 bits there. */
#include "offline/wet/sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIAL = 1024 };

struct sizing {
	struct wet_sizes *out;
	const struct wet_sink *sink; /* NULL: nobody keeps them */
	struct wet_packer *packer;
	struct bytes stored;
	uint64_t *values; /* room for the longest stream */
	int err;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Tier two of one stream of @n values; returns its bytes. */
static uint64_t compress(struct sizing *s, const uint64_t *values, size_t n)
{
	enum wet_store store;
	s->stored.len = 0;
	if (!wet_packer_put(s->packer, values, n, &s->stored, &store))
		s->err = -ENOMEM;
	if (!s->err && s->sink)
		s->err = s->sink->put(s->sink->ctx, s->stored.data, s->stored.len);
	s->out->streams++;
	s->out->chosen[store]++;
	s->out->bytes[store] += s->stored.len;
	return s->stored.len;
}

static uint64_t compress_words(struct sizing *s, const uint32_t *words, size_t n, size_t stride)
{
	for (size_t i = 0; i < n; i++)
		s->values[i] = words[i * stride];
	return compress(s, s->values, n);
}

static void size_node(struct sizing *s, const struct wet_node *n)
{
	struct wet_sizes *o = s->out;
	o->times.original += 4 * (uint64_t)n->n_stmts * n->executions;
	o->times.tier1 += 4 * (uint64_t)n->executions;
	o->times.tier2 += compress_words(s, n->times, n->executions, 1);
	o->values.original += 8 * (uint64_t)n->n_values * n->executions;
	o->edge_labels += n->n_inner * n->executions;
	for (uint32_t k = 0; k < n->n_groups && !s->err; k++) {
		const struct wet_group *g = &n->groups[k];
		o->values.tier1 += 8 * (uint64_t)g->width * g->n_uvals;
		if (g->n_uvals > 1) {
			o->values.tier1 += 4 * (uint64_t)g->n;
			o->values.tier2 += compress_words(s, g->pattern, g->n, 1);
		}
		for (uint32_t v = 0; v < g->width; v++) {
			for (size_t i = 0; i < g->n_uvals; i++)
				s->values[i] = g->uvals[i * g->width + v];
			o->values.tier2 += compress(s, s->values, g->n_uvals);
		}
	}
}

static void size_edges(struct sizing *s, const struct wet_edges *edges)
{
	struct wet_sizes *o = s->out;
	for (uint32_t i = 0; i < edges->n && !s->err; i++) {
		const struct wet_edge *e = &edges->at[i];
		o->edge_labels += e->n;
		o->edge_labels_kept += e->n_times / 2;
		o->edges.tier1 += 4 * e->n_times;
		if (!e->n_times)
			continue;
		o->edges.tier2 += compress_words(s, e->times, e->n_times / 2, 2);
		o->edges.tier2 += compress_words(s, e->times + 1, e->n_times / 2, 2);
	}
	o->edges.original = 8 * o->edge_labels;
}

/* --- walking --------------------------------------------------------------------------------- */

struct walk {
	struct wet_stream **streams; /* of each node's timestamps */
	uint64_t *at;		     /* the value that is next in the direction of the walk */
};

/* From the first timestamp to the last, by the nodes that were ever executed next. */
static uint64_t walk_forward(const struct wet_node *nodes, uint32_t n, struct walk *w,
			     uint32_t node, uint64_t last)
{
	uint64_t t = 1;
	for (uint32_t i = 0; i < n; i++)
		if (!wet_stream_next(w->streams[i], &w->at[i]))
			w->at[i] = 0;
	while (t < last) {
		const struct wet_node *from = &nodes[node];
		uint32_t k = 0;
		if (w->at[node] != t)
			return 0;
		if (!wet_stream_next(w->streams[node], &w->at[node]))
			w->at[node] = 0;
		t++;
		while (k < from->n_next && w->at[from->next[k]] != t)
			k++;
		if (k == from->n_next)
			return 0;
		node = from->next[k];
	}
	return t;
}

/* The same backward: who can have been before is the reverse of who can be next. */
static uint64_t walk_backward(const struct wet_node *nodes, uint32_t n, struct walk *w,
			      const uint32_t *first, const uint32_t *before, uint64_t last)
{
	uint64_t t = last, v;
	uint32_t node = 0;
	(void)nodes;
	for (uint32_t i = 0; i < n; i++) {
		while (wet_stream_next(w->streams[i], &v))
			;
		w->at[i] = wet_stream_previous(w->streams[i], &v) ? v : 0;
		node = w->at[i] == last ? i : node;
	}
	while (t > 1) {
		uint32_t k = first[node];
		w->at[node] = wet_stream_previous(w->streams[node], &v) ? v : 0;
		t--;
		while (k < first[node + 1] && w->at[before[k]] != t)
			k++;
		if (k == first[node + 1])
			return 0;
		node = before[k];
	}
	return t;
}

static int walk(const struct wet_graph *graph, struct sizing *s)
{
	struct wet_totals totals;
	uint32_t n;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);
	struct walk w = {calloc(n + 1, sizeof(*w.streams)), calloc(n + 1, sizeof(*w.at))};
	uint32_t *first = calloc(n + 2, sizeof(*first)), *before = NULL;
	bool fine = w.streams && w.at && first;
	wet_graph_totals(graph, &totals);
	for (uint32_t i = 0; fine && i < n; i++) {
		for (uint32_t k = 0; k < nodes[i].executions; k++)
			s->values[k] = nodes[i].times[k];
		w.streams[i] = wet_stream_best(s->values, nodes[i].executions, TRIAL);
		fine = w.streams[i];
		for (uint32_t k = 0; k < nodes[i].n_next; k++)
			first[nodes[i].next[k] + 2]++;
	}
	for (uint32_t i = 2; fine && i < n + 2; i++)
		first[i] += first[i - 1];
	if (fine)
		before = calloc(first[n + 1] + 1, sizeof(*before));
	fine = fine && before;
	for (uint32_t i = 0; fine && i < n; i++)
		for (uint32_t k = 0; k < nodes[i].n_next; k++)
			before[first[nodes[i].next[k] + 1]++] = i;
	if (fine && totals.paths) {
		double start = now();
		uint64_t end = walk_forward(nodes, n, &w, wet_graph_first(graph), totals.paths);
		s->out->forward_s = now() - start;
		start = now();
		uint64_t begin = walk_backward(nodes, n, &w, first, before, totals.paths);
		s->out->backward_s = now() - start;
		s->out->walked = totals.paths;
		s->out->walk_right = end == totals.paths && begin == 1;
	}
	for (uint32_t i = 0; w.streams && i < n; i++)
		wet_stream_free(w.streams[i]);
	free(w.streams);
	free(w.at);
	free(first);
	free(before);
	return fine ? 0 : -ENOMEM;
}

/* Values of the longest stream. */
static size_t longest(const struct wet_graph *graph)
{
	uint32_t n;
	size_t most = 1;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);
	const struct wet_edges *edges = wet_graph_edges(graph);
	for (uint32_t i = 0; i < n; i++)
		most = nodes[i].executions > most ? nodes[i].executions : most;
	for (uint32_t i = 0; i < edges->n; i++)
		most = edges->at[i].n_times > most ? edges->at[i].n_times : most;
	return most;
}

int wet_sizes_of(const struct wet_graph *graph, const struct wet_sink *sink, struct wet_sizes *out)
{
	struct sizing s = {.out = out, .sink = sink, .packer = wet_packer_new()};
	uint32_t n;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);
	*out = (struct wet_sizes){0};
	s.values = malloc(longest(graph) * sizeof(*s.values));
	s.err = s.packer && s.values ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n && !s.err; i++)
		size_node(&s, &nodes[i]);
	if (!s.err)
		size_edges(&s, wet_graph_edges(graph));
	if (!s.err) {
		wet_packer_steps(s.packer, &out->step_ns[0], &out->step_ns[1]);
		s.err = walk(graph, &s);
	}
	wet_packer_free(s.packer);
	bytes_deinit(&s.stored);
	free(s.values);
	return s.err;
}
