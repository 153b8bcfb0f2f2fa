// SPDX-License-Identifier: LGPL-2.1-or-later
/* growing.c: see growing.h. Pieces wait in a ring of fixed size: who makes streams faster than they
 * are compressed waits as well. */
#include "offline/wet/streams/growing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS_MAX = 8, WAITING_MAX = 256, SPARE_MAX = 64 };

struct wet_piece {
	uint32_t users;
	struct wet_block block;
	uint8_t *bytes; /* NULL: it waits */
};

struct job {
	struct wet_piece *piece;
	uint32_t *numbers; /* WET_BLOCK, to be freed */
};

struct wet_press {
	pthread_mutex_t lock;
	pthread_cond_t more, less; /* jobs wait, or are done */
	struct job waiting[WAITING_MAX];
	uint64_t put, taken, done; /* jobs */
	uint32_t *spare[SPARE_MAX];
	unsigned n_spare;
	bool ends, no_memory;
	pthread_t workers[WORKERS_MAX];
	int n_workers;
};

static uint8_t *compressed(struct wet_blocks *blocks, const struct job *job,
			   struct wet_block *block)
{
	if (!blocks)
		return NULL;
	*block = wet_block_pack_words(blocks, job->numbers, WET_BLOCK);
	uint8_t *bytes = malloc(block->packed + 1);
	if (bytes)
		memcpy(bytes, block->at, block->packed);
	block->at = bytes;
	return bytes;
}

static void *work(void *ctx)
{
	struct wet_press *p = ctx;
	struct wet_blocks *blocks = wet_blocks_new();
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->ends && p->taken == p->put)
			pthread_cond_wait(&p->more, &p->lock);
		if (p->taken == p->put)
			break;
		struct job job = p->waiting[p->taken++ % WAITING_MAX];
		pthread_mutex_unlock(&p->lock);
		struct wet_block block = {0};
		uint8_t *bytes = compressed(blocks, &job, &block);
		pthread_mutex_lock(&p->lock);
		job.piece->block = block;
		job.piece->bytes = bytes;
		p->no_memory |= !bytes;
		if (p->n_spare < SPARE_MAX)
			p->spare[p->n_spare++] = job.numbers;
		else
			free(job.numbers);
		p->done++;
		pthread_cond_broadcast(&p->less);
	}
	pthread_mutex_unlock(&p->lock);
	wet_blocks_free(blocks);
	return NULL;
}

struct wet_press *wet_press_new(void)
{
	struct wet_press *p = calloc(1, sizeof(*p));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int wanted = cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (int)cpus;
	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->less, NULL);
	while (p->n_workers < wanted && !pthread_create(&p->workers[p->n_workers], NULL, work, p))
		p->n_workers++;
	if (p->n_workers)
		return p;
	wet_press_free(p);
	return NULL;
}

void wet_press_free(struct wet_press *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->n_workers; i++)
		pthread_join(p->workers[i], NULL);
	for (unsigned i = 0; i < p->n_spare; i++)
		free(p->spare[i]);
	pthread_cond_destroy(&p->less);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

bool wet_press_wait(struct wet_press *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->done < p->put)
		pthread_cond_wait(&p->less, &p->lock);
	bool fine = !p->no_memory;
	pthread_mutex_unlock(&p->lock);
	return fine;
}

/* Hands @numbers over. Returns room for as many, or NULL. */
static uint32_t *press(struct wet_press *p, struct wet_piece *piece, uint32_t *numbers)
{
	pthread_mutex_lock(&p->lock);
	while (p->put - p->done == WAITING_MAX)
		pthread_cond_wait(&p->less, &p->lock);
	p->waiting[p->put++ % WAITING_MAX] = (struct job){piece, numbers};
	uint32_t *next = p->n_spare ? p->spare[--p->n_spare] : NULL;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	return next ? next : malloc(WET_BLOCK * sizeof(*next));
}

/* --- a stream -------------------------------------------------------------------------------- */

/* The last number is always in the tail: a block that is complete becomes a piece when another
 * number comes. */

void wet_growing_deinit(struct wet_growing *g)
{
	for (uint32_t i = 0; i < g->n_pieces; i++)
		if (!--g->pieces[i]->users) {
			free(g->pieces[i]->bytes);
			free(g->pieces[i]);
		}
	free(g->pieces);
	free(g->tail);
	*g = (struct wet_growing){0};
}

static bool room_for_pieces(struct wet_growing *g, uint32_t n)
{
	if (n <= g->room_pieces)
		return true;
	uint32_t room = n + n / 2 + 1;
	struct wet_piece **pieces = realloc(g->pieces, room * sizeof(*pieces));
	if (!pieces)
		return false;
	g->pieces = pieces;
	g->room_pieces = room;
	return true;
}

bool wet_growing_room(struct wet_press *p, struct wet_growing *g)
{
	if (g->n && g->n % WET_BLOCK == 0 && g->n / WET_BLOCK > g->n_pieces) {
		struct wet_piece *piece = calloc(1, sizeof(*piece));
		if (!piece || !room_for_pieces(g, g->n_pieces + 1)) {
			free(piece);
			return false;
		}
		piece->users = 1;
		g->pieces[g->n_pieces++] = piece;
		g->tail = press(p, piece, g->tail);
		g->room = g->tail ? WET_BLOCK : 0;
		return g->tail;
	}
	if (g->n % WET_BLOCK < g->room)
		return true;
	uint32_t room = g->room ? 2 * g->room : 4;
	uint32_t *tail = realloc(g->tail, room * sizeof(*tail));
	if (!tail)
		return false;
	g->tail = tail;
	g->room = room;
	return true;
}

bool wet_growing_begin_as(struct wet_press *p, struct wet_growing *to,
			  const struct wet_growing *from, uint64_t n)
{
	uint32_t whole = n ? (uint32_t)((n - 1) / WET_BLOCK) : 0;
	uint64_t left = n - (uint64_t)whole * WET_BLOCK, expanded[WET_BLOCK];
	struct wet_blocks *blocks = NULL;
	bool fine = room_for_pieces(to, whole);
	for (uint32_t i = 0; fine && i < whole; i++) {
		from->pieces[i]->users++;
		to->pieces[to->n_pieces++] = from->pieces[i];
	}
	to->n = (uint64_t)to->n_pieces * WET_BLOCK;
	if (fine && left && whole < from->n_pieces) {
		blocks = wet_blocks_new();
		fine = wet_press_wait(p) && blocks &&
		       wet_block_unpack(blocks, &from->pieces[whole]->block, expanded, left);
		wet_blocks_free(blocks);
	}
	for (uint64_t i = 0; fine && i < left; i++)
		fine = wet_growing_add(
			p, to, whole < from->n_pieces ? (uint32_t)expanded[i] : from->tail[i]);
	return fine;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int wet_growing_compare(const struct wet_growing *a, const struct wet_growing *b)
{
	int differ = compare(a->n, b->n);
	for (uint32_t i = 0; !differ && i < a->n_pieces && i < b->n_pieces; i++) {
		const struct wet_block *x = &a->pieces[i]->block, *y = &b->pieces[i]->block;
		if (a->pieces[i] == b->pieces[i])
			continue;
		differ = compare(x->packed, y->packed);
		differ = differ ? differ : compare(x->kind, y->kind);
		differ = differ ? differ : memcmp(x->at, y->at, x->packed);
	}
	if (differ || !a->n)
		return differ;
	return memcmp(a->tail, b->tail,
		      (a->n - (uint64_t)a->n_pieces * WET_BLOCK) * sizeof(*a->tail));
}

bool wet_growing_block(const struct wet_growing *g, uint32_t i, struct wet_block *out)
{
	if (i >= g->n_pieces)
		return false;
	*out = g->pieces[i]->block;
	return true;
}

bool wet_growing_read(const struct wet_growing *g, struct wet_blocks *blocks, uint64_t *to,
		      uint64_t n)
{
	uint64_t at = 0;
	for (uint32_t i = 0; at < n && i < g->n_pieces; i++) {
		uint64_t part = n - at < WET_BLOCK ? n - at : WET_BLOCK;
		if (!wet_block_unpack(blocks, &g->pieces[i]->block, to + at, part))
			return false;
		at += part;
	}
	for (uint64_t i = 0; at < n; i++)
		to[at++] = g->tail[i];
	return true;
}
