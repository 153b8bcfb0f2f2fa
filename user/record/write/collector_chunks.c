// SPDX-License-Identifier: LGPL-2.1-or-later
/* collector_chunks.c: chunks between the two threads of the collector: one is filled, full ones
 * wait in a queue to be written, and are free again. */
#include "user/record/write/collector_impl.h"

#include "offline/base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Puts the current chunk behind what is in the file, so that it is free at once. */
static bool put_aside(struct collector *c, struct queued *queued)
{
	*queued = (struct queued){.off_file = c->backlog_end,
				  .len = c->current->len,
				  .since_ns = c->current->since_ns};
	if (c->backlog_fd < 0 || !disk_room_has(&c->room, c->current->len) ||
	    pwrite_all(c->backlog_fd, c->current->data, c->current->len, c->backlog_end))
		return false;
	c->backlog_end += c->current->len;
	return true;
}

/* Queues the current chunk, if there is anything in it. */
static void hand_over(struct collector *c)
{
	struct queued queued = {.chunk = c->current, .len = c->current ? c->current->len : 0};
	bool aside = false;

	if (!queued.len)
		return;
	collector_lock(c);
	bool full = !c->n_free;
	pthread_mutex_unlock(&c->lock);
	if (full)
		aside = put_aside(c, &queued);
	bool stuck = full && !aside; /* what was put aside has to be written first */
	if (stuck)
		idle_thread_hurry(c->idle);
	else if (c->stuck)
		idle_thread_may_rest(c->idle);
	c->stuck = stuck;
	if (full && !aside)
		queued = (struct queued){.chunk = c->current, .len = c->current->len};
	collector_lock(c);
	if (VEC_PUSH(&c->queue, queued)) {
		atomic_fetch_add(&c->waiting, queued.len);
		pthread_cond_broadcast(&c->changed);
	} else {
		collector_fail(c, -ENOMEM);
		aside = true; /* nothing more is written */
	}
	pthread_mutex_unlock(&c->lock);
	if (aside)
		c->current->len = 0;
	else
		c->current = NULL;
}

void chunk_turn(struct collector *c, bool wait)
{
	hand_over(c);
	collector_lock(c);
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

struct queued chunk_wait(struct collector *c)
{
	bool late = false;

	while (!c->queue.n && !c->drained && !(c->keeping && (c->settling || late)))
		if (!c->keeping)
			pthread_cond_wait(&c->changed, &c->lock);
		else
			late = pthread_cond_timedwait(&c->changed, &c->lock, &c->keeps_until);
	if (!c->queue.n)
		return (struct queued){0};
	struct queued queued = c->queue.at[0];
	memmove(c->queue.at, c->queue.at + 1, --c->queue.n * sizeof(*c->queue.at));
	return queued;
}

struct chunk *chunk_get(struct collector *c, struct queued queued, int *err)
{
	*err = 0;
	if (queued.chunk || !queued.len)
		return queued.chunk;
	if (!c->again.data)
		c->again.data = malloc(CHUNK_BYTES);
	if (!c->again.data)
		*err = -ENOMEM;
	else if (pread(c->backlog_fd, c->again.data, queued.len, queued.off_file) !=
		 (ssize_t)queued.len)
		*err = -EIO;
	if (*err)
		return NULL;
	c->again.len = queued.len;
	c->again.since_ns = queued.since_ns;
	/* The disk is given back what nobody reads again. */
	fallocate(c->backlog_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, queued.off_file,
		  queued.len);
	return &c->again;
}
