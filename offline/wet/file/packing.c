// SPDX-License-Identifier: LGPL-2.1-or-later
/* packing.c: see packing.h. Workers take the next stream that nobody has taken; who called hands on
 * what they have made, stream by stream, and they are never far ahead of that. */
#include "offline/wet/file/packing.h"

#include "offline/base/vec.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS_MAX = 8, AHEAD = 1024 };

/* A stream: @grown, or every @stride-th of @n values. */
struct part {
	const struct wet_growing *grown;
	const uint64_t *values;
	size_t n, stride;
	enum wet_stream_of of;
};

struct done {
	struct bytes stored;
	enum wet_store store;
	bool is_done, failed;
};

struct packing {
	VEC(struct part) parts;
	bool no_memory;
	const struct wet_packer *first; /* all choose as this one does */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct done done[AHEAD]; /* of part i: at i % AHEAD */
	uint32_t taken, handed;	 /* parts */
	bool ends;
};

static void add(struct packing *p, struct part part)
{
	if (VEC_RESERVE(&p->parts, 1))
		p->parts.at[p->parts.n++] = part;
	else
		p->no_memory = true;
}

static void add_grown(struct packing *p, const struct wet_growing *g, enum wet_stream_of of)
{
	add(p, (struct part){g, NULL, g->n, 0, of});
}

static void add_node(struct packing *p, const struct wet_node *n)
{
	if (n->times.n)
		add_grown(p, &n->times, WET_OF_TIMES);
	for (uint32_t k = 0; k < n->n_groups; k++) {
		const struct wet_group *g = &n->groups[k];
		if (g->executed)
			continue;
		if (g->n_uvals > 1)
			add_grown(p, &g->pattern, WET_OF_VALUES);
		for (uint32_t v = 0; v < g->width; v++)
			add(p,
			    (struct part){NULL, g->uvals + v, g->n_uvals, g->width, WET_OF_VALUES});
	}
}

static void add_edge(struct packing *p, const struct wet_edge *e)
{
	enum wet_stream_of of = e->operand == WET_CONTROL  ? WET_OF_CONTROL
				: e->operand >= WET_MEMORY ? WET_OF_MEMORY
							   : WET_OF_REGISTERS;
	for (unsigned side = 0; wet_edge_labels(e) && side < 2; side++)
		add_grown(p, &e->times[side], of);
}

/* A buffer of the worker's for the values of one stream, or its blocks. */
struct buffer {
	uint64_t *at;
	size_t room;
	VEC(struct wet_block) blocks;
};

static bool make_room(struct buffer *b, size_t n)
{
	if (n <= b->room)
		return true;
	free(b->at);
	b->at = malloc(n * sizeof(*b->at));
	b->room = b->at ? n : 0;
	return b->at;
}

/* Pieces are blocks already; what is behind them becomes one. */
static bool pack_pieces(struct wet_packer *packer, struct buffer *b, const struct wet_growing *g,
			struct done *done)
{
	struct wet_block block;
	b->blocks.n = 0;
	while (wet_growing_block(g, b->blocks.n, &block))
		if (!VEC_PUSH(&b->blocks, block))
			return false;
	block = wet_block_pack_words(wet_packer_blocks(packer), g->tail,
				     g->n - (uint64_t)b->blocks.n * WET_BLOCK);
	uint8_t *last = malloc(block.packed + 1);
	if (!last)
		return false;
	memcpy(last, block.at, block.packed);
	block.at = last;
	bool fine = VEC_PUSH(&b->blocks, block) &&
		    wet_packer_put_blocks(packer, b->blocks.at, g->n, &done->stored, &done->store);
	free(last);
	return fine;
}

static bool pack(struct wet_packer *packer, struct buffer *b, const struct part *part,
		 struct done *done)
{
	if (part->grown && part->n > WET_BLOCK)
		return pack_pieces(packer, b, part->grown, done);
	if (!make_room(b, part->n))
		return false;
	for (size_t i = 0; i < part->n; i++)
		b->at[i] = part->grown ? part->grown->tail[i] : part->values[i * part->stride];
	return wet_packer_put(packer, b->at, part->n, &done->stored, &done->store);
}

static void *work(void *ctx)
{
	struct packing *p = ctx;
	struct wet_packer *packer = wet_packer_new();
	struct buffer buffer = {0};

	if (packer)
		wet_packer_as(packer, p->first);
	pthread_mutex_lock(&p->lock);
	while (!p->ends && p->taken < p->parts.n) {
		if (p->taken - p->handed >= AHEAD) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		uint32_t i = p->taken++;
		struct done *done = &p->done[i % AHEAD];
		pthread_mutex_unlock(&p->lock);
		bool fine = packer && pack(packer, &buffer, &p->parts.at[i], done);
		pthread_mutex_lock(&p->lock);
		done->failed = !fine;
		done->is_done = true;
		if (i == p->handed)
			pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	free(buffer.at);
	VEC_FREE(&buffer.blocks);
	wet_packer_free(packer);
	return NULL;
}

/* Hands on all parts in their order, as they are done. */
static int hand_on(struct packing *p, wet_packed_fn *take, void *ctx)
{
	int err = 0;

	pthread_mutex_lock(&p->lock);
	while (!err && p->handed < p->parts.n) {
		struct done *done = &p->done[p->handed % AHEAD];
		if (!done->is_done) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		err = done->failed
			      ? -ENOMEM
			      : take(ctx, p->parts.at[p->handed].of, done->store, &done->stored);
		bytes_deinit(&done->stored);
		pthread_mutex_lock(&p->lock);
		*done = (struct done){0};
		p->handed++;
		pthread_cond_broadcast(&p->changed);
	}
	p->ends = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return err;
}

static int run(struct packing *p, wet_packed_fn *take, void *ctx)
{
	pthread_t workers[WORKERS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0, wanted = cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (int)cpus;

	while (n < wanted && !pthread_create(&workers[n], NULL, work, p))
		n++;
	int err = n ? hand_on(p, take, ctx) : -EAGAIN;
	for (int i = 0; i < n; i++)
		pthread_join(workers[i], NULL);
	for (unsigned i = 0; i < AHEAD; i++)
		bytes_deinit(&p->done[i].stored);
	return err;
}

int wet_pack(const struct wet_graph *graph, wet_packed_fn *take, void *ctx, double steps[2])
{
	struct packing *p = calloc(1, sizeof(*p));
	struct wet_packer *first = wet_packer_new();
	const struct wet_edges *edges = wet_graph_edges(graph);
	uint32_t n;
	const struct wet_node *nodes = wet_graph_nodes(graph, &n);
	int err = -ENOMEM;

	if (p && first) {
		for (uint32_t i = 0; i < n; i++)
			add_node(p, &nodes[i]);
		for (uint32_t i = 0; i < edges->n; i++)
			add_edge(p, &edges->at[i]);
		p->first = first;
		wet_packer_steps(first, &steps[0], &steps[1]);
		pthread_mutex_init(&p->lock, NULL);
		pthread_cond_init(&p->changed, NULL);
		err = p->no_memory ? -ENOMEM : run(p, take, ctx);
		pthread_cond_destroy(&p->changed);
		pthread_mutex_destroy(&p->lock);
		VEC_FREE(&p->parts);
	}
	wet_packer_free(first);
	free(p);
	return err;
}
