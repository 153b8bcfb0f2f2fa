// SPDX-License-Identifier: LGPL-2.1-or-later
/* sizes.c: see sizes.h. Uncompressed, a statement's timestamp and each of a label are four bytes, a
 * value eight: the paper's, but for values, which are words of 32 bits there. */
#include "offline/wet/file/sizes.h"

#include "offline/wet/streams/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIAL = 1024, WALKED_MAX = 1 << 20 };

struct sizing {
	struct wet_sizes *out;
	const struct wet_sink *sink; /* NULL: nobody keeps them */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Tier two of one stream. */
static int take_packed(void *ctx, enum wet_stream_of of, enum wet_store store,
		       const struct bytes *stored)
{
	struct sizing *s = ctx;
	struct wet_sizes *o = s->out;
	struct wet_size *size = of == WET_OF_TIMES    ? &o->times
				: of == WET_OF_VALUES ? &o->values
						      : &o->edges;

	size->tier2 += stored->len;
	o->of[of] += stored->len;
	o->streams++;
	o->chosen[store]++;
	o->bytes[store] += stored->len;
	return s->sink ? s->sink->put(s->sink->ctx, stored->data, stored->len) : 0;
}

/* What is needed to execute values and dependences again. */
static int take_again(void *ctx, enum again_part part, const uint8_t *bytes, size_t len)
{
	struct sizing *s = ctx;

	struct wet_size *size = part == AGAIN_UNFORESEEN ? &s->out->edges
				: part == AGAIN_PATHS	 ? &s->out->times
							 : &s->out->values;
	size->tier2 += len;
	s->out->again[part] += len;
	s->out->streams++;
	s->out->chosen[WET_KIND_AGAIN]++;
	s->out->bytes[WET_KIND_AGAIN] += len;
	return s->sink ? s->sink->put(s->sink->ctx, bytes, len) : 0;
}

static void size_node(struct wet_sizes *o, const struct wet_node *n)
{
	o->times.original += 4 * (uint64_t)n->n_stmts * n->executions;
	o->times.tier1 += 4 * (uint64_t)n->executions;
	o->values.original += 8 * (uint64_t)n->n_values * n->executions;
	o->edge_labels += n->reads.n_inner * n->executions;
	for (uint32_t k = 0; k < n->n_groups; k++) {
		const struct wet_group *g = &n->groups[k];
		if (g->executed)
			continue;
		o->values.tier1 += 8 * (uint64_t)g->width * g->n_uvals;
		if (g->n_uvals > 1)
			o->values.tier1 += 4 * (uint64_t)g->n;
	}
}

static void size_edges(struct wet_sizes *o, const struct wet_edges *edges)
{
	for (uint32_t i = 0; i < edges->n; i++) {
		o->edge_labels += edges->at[i].n;
		o->edge_labels_kept += wet_edge_labels(&edges->at[i]);
		o->edges.tier1 += 8 * wet_edge_labels(&edges->at[i]);
	}
	o->edges.original = 8 * o->edge_labels;
}

static void size_again(struct wet_sizes *o, const struct wet_graph *graph,
		       const struct noted *noted)
{
	uint32_t n;
	const struct unforeseen_block *unforeseen = wet_graph_unforeseen(graph, &n);
	o->values.tier1 += noted->raw;
	for (uint32_t i = 0; i < n; i++)
		o->edges.tier1 += unforeseen[i].raw;
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

/* Of @n's timestamps those up to @last, to @values. Each is one more than the one before at least.
 */
static bool read_times(struct wet_blocks *blocks, const struct wet_node *n, uint64_t last,
		       uint64_t *values, size_t *n_values)
{
	uint64_t some = n->times.n < last ? n->times.n : last;
	if (!wet_growing_read(&n->times, blocks, values, some))
		return false;
	while (some && values[some - 1] > last)
		some--;
	*n_values = some;
	return true;
}

/* One block after the other, as whoever reads a file does it: @nodes has room for any. */
static int walk_blocks(const struct wet_graph *graph, uint32_t n_blocks, bool back,
		       struct codec *codec, uint32_t *nodes, uint64_t *sum)
{
	const struct bytes *executions;
	uint32_t n_nodes, n;
	const struct bytes *flows = wet_graph_flows(graph, &n);
	const struct wet_cut *cuts = wet_graph_cuts(graph, &n, &executions);
	wet_graph_nodes(graph, &n_nodes);
	for (uint32_t i = 0; i < n_blocks; i++) {
		uint32_t block = back ? n_blocks - 1 - i : i;
		uint64_t before = cuts[block].paths, paths = cuts[block + 1].paths - before;
		int err = wet_flow_read(codec, flows[block].data, flows[block].len, n_nodes, paths,
					nodes);
		if (err)
			return err;
		for (uint64_t k = 0; k < paths; k++) {
			uint64_t path = back ? paths - 1 - k : k;
			*sum += (before + path + 1) * (nodes[path] + (uint64_t)1);
		}
	}
	return 0;
}

/* The blocks that the first @least executions are in. */
static int walk_flows(const struct wet_graph *graph, uint64_t least, struct wet_sizes *out)
{
	const struct bytes *executions;
	uint32_t n_flows, n_cuts, n = 0;
	uint64_t most = 0, sums[2] = {0};
	const struct wet_cut *cuts = wet_graph_cuts(graph, &n_cuts, &executions);
	wet_graph_flows(graph, &n_flows);
	for (; n < n_flows && cuts[n].paths < least; n++)
		if (most < cuts[n + 1].paths - cuts[n].paths)
			most = cuts[n + 1].paths - cuts[n].paths;
	uint32_t *nodes = malloc(most * sizeof(*nodes) + 1);
	struct codec *codec = codec_new();
	int err = nodes && codec ? 0 : -ENOMEM;
	for (int back = 0; back < 2 && !err; back++) {
		double start = now();
		err = walk_blocks(graph, n, back, codec, nodes, &sums[back]);
		*(back ? &out->backward_s : &out->forward_s) = now() - start;
	}
	out->walked = n_cuts ? cuts[n].paths : 0;
	out->walk_right = !err && sums[0] == sums[1];
	codec_free(codec);
	free(nodes);
	return err;
}

/* The first @last executions. */
static int walk(const struct wet_graph *graph, uint64_t last, struct wet_sizes *out)
{
	uint32_t n;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);
	struct walk w = {calloc(n + 1, sizeof(*w.streams)), calloc(n + 1, sizeof(*w.at))};
	uint32_t *first = calloc(n + 2, sizeof(*first)), *before = NULL;
	uint64_t *values = malloc(last * sizeof(*values) + 1);
	struct wet_blocks *blocks = wet_blocks_new();
	bool fine = w.streams && w.at && first && values && blocks;
	for (uint32_t i = 0; fine && i < n; i++) {
		size_t some = 0;
		fine = read_times(blocks, &nodes[i], last, values, &some);
		w.streams[i] = fine ? wet_stream_best(values, some, TRIAL) : NULL;
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
	if (fine && last) {
		double start = now();
		uint64_t end = walk_forward(nodes, n, &w, wet_graph_first(graph), last);
		out->forward_s = now() - start;
		start = now();
		uint64_t begin = walk_backward(nodes, n, &w, first, before, last);
		out->backward_s = now() - start;
		out->walked = last;
		out->walk_right = end == last && begin == 1;
	}
	wet_blocks_free(blocks);
	free(values);
	for (uint32_t i = 0; w.streams && i < n; i++)
		wet_stream_free(w.streams[i]);
	free(w.streams);
	free(w.at);
	free(first);
	free(before);
	return fine ? 0 : -ENOMEM;
}

int wet_sizes_of(const struct wet_graph *graph, const struct noted *noted,
		 const struct wet_sink *sink, struct wet_sizes *out)
{
	struct sizing s = {.out = out, .sink = sink};
	struct wet_totals totals;
	uint32_t n;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);

	*out = (struct wet_sizes){0};
	for (uint32_t i = 0; i < n; i++)
		size_node(out, &nodes[i]);
	size_edges(out, wet_graph_edges(graph));
	if (noted)
		size_again(out, graph, noted);
	wet_graph_totals(graph, &totals);
	int err = wet_pack(graph, take_packed, &s, out->step_ns);
	if (!err && noted)
		err = again_put(graph, noted, take_again, &s);
	uint64_t walked = totals.paths < WALKED_MAX ? totals.paths : WALKED_MAX;
	return err ? err : noted ? walk_flows(graph, walked, out) : walk(graph, walked, out);
}
