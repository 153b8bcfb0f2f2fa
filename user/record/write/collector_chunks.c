// SPDX-License-Identifier: LGPL-2.1-or-later
/* collector_chunks.c: chunks between the two threads of the collector: one is filled, full ones
 * wait in a queue to be written, and are free again. */
#include "user/record/write/collector_impl.h"

#include <string.h>

void chunk_turn(struct collector *c, bool wait)
{
	pthread_mutex_lock(&c->lock);
	if (c->current && c->current->len) {
		c->queue[c->n_queue++] = c->current;
		c->current = NULL;
		pthread_cond_broadcast(&c->changed);
	}
	while (!c->current && wait && !c->n_free)
		pthread_cond_wait(&c->changed, &c->lock);
	if (!c->current && c->n_free) {
		c->current = c->free[--c->n_free];
		c->current->len = 0;
	}
	pthread_mutex_unlock(&c->lock);
}

bool chunk_has_room(const struct collector *c)
{
	return c->current && CHUNK_BYTES - c->current->len >= CHUNK_ROOM;
}

void *chunk_add(struct collector *c, const void *data, uint32_t bytes)
{
	struct chunk *chunk = c->current;
	struct chunk_entry entry = {.bytes = bytes};
	uint32_t padded = (bytes + 7) / 8 * 8;
	uint8_t *at = chunk->data + chunk->len;

	if (!chunk->len)
		chunk->since_ns = clock_now_ns();
	memcpy(at, &entry, sizeof(entry));
	at += sizeof(entry);
	memcpy(at, data, bytes);
	memset(at + bytes, 0, padded - bytes);
	chunk->len += sizeof(entry) + padded;
	return at;
}

void collector_fail(struct collector *c, int err)
{
	uint64_t one = 1;

	if (c->err)
		return;
	c->err = err;
	if (write(c->notify_fd, &one, sizeof(one)) < 0)
		c->finishing = true;
}

struct chunk *chunk_wait(struct collector *c)
{
	bool late = false;

	while (!c->n_queue && !c->drained && !(c->keeping && (c->settling || late)))
		if (!c->keeping)
			pthread_cond_wait(&c->changed, &c->lock);
		else
			late = pthread_cond_timedwait(&c->changed, &c->lock, &c->keeps_until);
	if (!c->n_queue)
		return NULL;
	struct chunk *chunk = c->queue[0];
	memmove(c->queue, c->queue + 1, --c->n_queue * sizeof(*c->queue));
	return chunk;
}
