// SPDX-License-Identifier: LGPL-2.1-or-later
/* sizes.c: see sizes.h. Uncompressed, a statement's timestamp and each of a label are four bytes, a
 * value eight: the paper's, but for values, which are words of 32 bits there. */
#include "offline/wet/sizes.h"

#include "offline/base/codec.h"
#include "offline/wet/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIAL = 1024, BLOCK = 4096, BLOCKS_FROM = 256, TIMED = 4096 };

struct sizing {
	struct wet_sizes *out;
	struct codec *codec;
	uint64_t *values; /* room for the longest stream */
	uint8_t *packed, *unpacked;
	bool no_memory;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Differences in as few bytes as they need. */
static size_t pack(const uint64_t *values, size_t n, uint64_t before, uint8_t *out)
{
	size_t len = 0;
	for (size_t i = 0; i < n; before = values[i++]) {
		int64_t d = (int64_t)(values[i] - before);
		uint64_t z = (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
		for (; z > 127; z >>= 7)
			out[len++] = (uint8_t)(z | 128);
		out[len++] = (uint8_t)z;
	}
	return len;
}

/* Bytes of @n values in blocks, each with eight bytes of index. */
static uint64_t in_blocks(struct sizing *s, const uint64_t *values, size_t n)
{
	uint64_t bytes = 0;
	bool timed = false;
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t part = n - i < BLOCK ? n - i : BLOCK;
		size_t len = pack(values + i, part, i ? values[i - 1] : 0, s->unpacked);
		uint8_t kind;
		size_t packed = codec_compress(s->codec, s->unpacked, len, s->packed, &kind);
		bytes += packed + 8;
		if (s->out->step_ns[1] || part != BLOCK || timed)
			continue;
		/* A step is a part of what a block costs. */
		double start = now();
		codec_expand(s->codec, kind, s->packed, packed, s->unpacked, len);
		s->out->step_ns[1] = 1e9 * (now() - start) / BLOCK + 1;
		timed = true;
	}
	return bytes;
}

static void time_steps(struct sizing *s, struct wet_stream *w, size_t n)
{
	uint64_t v;
	double start = now();
	for (size_t i = 0; i < n; i++)
		wet_stream_next(w, &v);
	for (size_t i = 0; i < n; i++)
		wet_stream_previous(w, &v);
	s->out->step_ns[0] = 1e9 * (now() - start) / (2.0 * (double)n);
}

/* What a byte in blocks costs beside one of a predictor: by what a step takes. */
static double cost_of_blocks(const struct sizing *s)
{
	return s->out->step_ns[0] && s->out->step_ns[1] ? s->out->step_ns[1] / s->out->step_ns[0]
							: 1;
}

/* Whether its beginning says that no predictor comes near the blocks. */
static bool is_for_blocks(struct sizing *s, const uint64_t *values, size_t n)
{
	struct wet_choice best;
	size_t tried = n < TRIAL ? n : TRIAL;
	if (n < 2 * TRIAL)
		return false;
	s->no_memory |= !wet_stream_choose(values, tried, &best);
	return !s->no_memory && s->out->step_ns[0] &&
	       2 * cost_of_blocks(s) * (double)in_blocks(s, values, tried) < (double)best.bits / 8;
}

/* Tier two of one stream of @n values of @width bytes; returns its bytes. */
static uint64_t compress(struct sizing *s, const uint64_t *values, size_t n, unsigned width)
{
	uint64_t best = (uint64_t)n * width + 1;
	int store = WET_STORE_RAW;
	bool blocks = is_for_blocks(s, values, n), predicted = n > 2 && !blocks;
	s->out->streams++;
	struct wet_stream *w = predicted ? wet_stream_best(values, n, TRIAL) : NULL;
	s->no_memory |= predicted && !w;
	if (w && wet_stream_bits(w) / 8 + 1 < best) {
		best = wet_stream_bits(w) / 8 + 1;
		store = wet_stream_predictor(w, NULL);
	}
	if (w && !s->out->step_ns[0] && n >= TIMED)
		time_steps(s, w, n);
	wet_stream_free(w);
	if (n >= BLOCKS_FROM) {
		/* Where it wins on size times the cost of a step. */
		uint64_t bytes = in_blocks(s, values, n);
		double cost = store == WET_STORE_RAW ? 1 : cost_of_blocks(s);
		if ((double)bytes * cost < (double)best) {
			best = bytes;
			store = WET_STORE_BLOCKS;
		}
	}
	s->out->chosen[store]++;
	s->out->bytes[store] += best;
	return best;
}

static uint64_t compress_words(struct sizing *s, const uint32_t *words, size_t n, size_t stride)
{
	for (size_t i = 0; i < n; i++)
		s->values[i] = words[i * stride];
	return compress(s, s->values, n, 4);
}

static void size_node(struct sizing *s, const struct wet_node *n)
{
	struct wet_sizes *o = s->out;
	o->times.original += 4 * (uint64_t)n->n_stmts * n->executions;
	o->times.tier1 += 4 * (uint64_t)n->executions;
	o->times.tier2 += compress_words(s, n->times, n->executions, 1);
	o->values.original += 8 * (uint64_t)n->n_values * n->executions;
	o->edge_labels += n->n_inner * n->executions;
	for (uint32_t k = 0; k < n->n_groups && !s->no_memory; k++) {
		const struct wet_group *g = &n->groups[k];
		o->values.tier1 += 8 * (uint64_t)g->width * g->n_uvals;
		if (g->n_uvals > 1) {
			o->values.tier1 += 4 * (uint64_t)g->n;
			o->values.tier2 += compress_words(s, g->pattern, g->n, 1);
		}
		for (uint32_t v = 0; v < g->width; v++) {
			for (size_t i = 0; i < g->n_uvals; i++)
				s->values[i] = g->uvals[i * g->width + v];
			o->values.tier2 += compress(s, s->values, g->n_uvals, 8);
		}
	}
}

static void size_edges(struct sizing *s, const struct wet_edges *edges)
{
	struct wet_sizes *o = s->out;
	for (uint32_t i = 0; i < edges->n && !s->no_memory; i++) {
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
	size_t most = BLOCK;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);
	const struct wet_edges *edges = wet_graph_edges(graph);
	for (uint32_t i = 0; i < n; i++)
		most = nodes[i].executions > most ? nodes[i].executions : most;
	for (uint32_t i = 0; i < edges->n; i++)
		most = edges->at[i].n_times > most ? edges->at[i].n_times : most;
	return most;
}

int wet_sizes_of(const struct wet_graph *graph, struct wet_sizes *out)
{
	enum { WORST = 10 }; /* bytes of a difference */
	struct sizing s = {.out = out, .codec = codec_new()};
	uint32_t n;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);
	*out = (struct wet_sizes){0};
	s.values = malloc(longest(graph) * sizeof(*s.values));
	s.unpacked = malloc(BLOCK * WORST);
	s.packed = malloc(codec_bound(BLOCK * WORST));
	s.no_memory = !s.codec || !s.values || !s.unpacked || !s.packed;
	for (uint32_t i = 0; i < n && !s.no_memory; i++)
		size_node(&s, &nodes[i]);
	if (!s.no_memory)
		size_edges(&s, wet_graph_edges(graph));
	if (!s.no_memory)
		s.no_memory = walk(graph, &s) < 0;
	codec_free(s.codec);
	free(s.values);
	free(s.unpacked);
	free(s.packed);
	return s.no_memory ? -ENOMEM : 0;
}
