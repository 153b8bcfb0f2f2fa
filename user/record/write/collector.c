// SPDX-License-Identifier: LGPL-2.1-or-later
/* collector.c: starts and ends the two threads, is the one that writes, and tells others what both
 * know. */
#include "user/record/write/collector_impl.h"

#include "user/cli/progress.h"
#include "user/kernel/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_S 1 /* what is kept back waits so long at most */

/* A program that is started is looked at when its first stack is written: it must still be there.
 * So long is nothing put off. */
#define STARTED_NS 1000000000ull

struct site_hits *collector_hits(struct collector *c)
{
	return c->hits;
}

void collector_count_anew(struct collector *c)
{
	c->hits_generation = probes_generation(c->probes);
	for (uint32_t i = 0; i < c->n_hits; i++)
		c->hits[i].all = c->hits[i].stacks = 0;
}

uint32_t collector_processes(struct collector *c, int32_t *pids, uint32_t max)
{
	return maps_watch_processes(c->maps, pids, max);
}

void collector_flush(struct collector *c)
{
	collector_lock(c);
	unsigned mine = ++c->n_flushes;
	bool done = false;
	for (int ms = 0; !done && ms < 1000; ms++) {
		pthread_mutex_unlock(&c->lock);
		usleep(1000);
		collector_lock(c);
		done = (int)(c->n_flushed - mine) >= 0 && (c->idle || (!c->queue.n && !c->writing));
		if (done && c->keeping && !c->idle) {
			c->settling = true;
			pthread_cond_broadcast(&c->changed);
			done = false;
		}
	}
	pthread_mutex_unlock(&c->lock);
}

void collector_give_back(struct collector *c)
{
	atomic_store(&c->give_back, true);
}

/* A chunk that was full is soon followed by another one. */
static int write_chunk(struct collector *c, const struct chunk *chunk)
{
	if (atomic_exchange(&c->give_back, false))
		recording_writer_give_back(c->writer);
	if (!chunk)
		return recording_writer_settle(c->writer);
	recording_writer_since(c->writer, chunk->since_ns);
	return recording_writer_chunk(c->writer, chunk->data, chunk->len,
				      CHUNK_BYTES - chunk->len < CHUNK_ROOM);
}

static void *write_main(void *context)
{
	struct collector *c = context;

	if (!c->idle)
		collector_go_first();
	for (;;) {
		int err;

		if (c->idle && clock_now_ns() >= c->rests_from_ns)
			idle_thread_rest(c->idle);
		pthread_mutex_lock(&c->lock);
		struct queued next = chunk_wait(c);
		if (!next.len && !c->keeping) {
			pthread_mutex_unlock(&c->lock);
			return NULL;
		}
		c->writing = true;
		pthread_mutex_unlock(&c->lock);

		struct chunk *chunk = chunk_get(c, next, &err);
		if (!err)
			err = write_chunk(c, chunk);
		atomic_fetch_sub(&c->waiting, next.len);

		pthread_mutex_lock(&c->lock);
		if (next.chunk)
			c->free[c->n_free++] = next.chunk;
		c->keeping = recording_writer_keeps(c->writer);
		c->settling = false;
		clock_gettime(CLOCK_MONOTONIC, &c->keeps_until);
		c->keeps_until.tv_sec += KEPT_S;
		c->writing = false;
		if (err)
			collector_fail(c, err);
		pthread_cond_broadcast(&c->changed);
		pthread_mutex_unlock(&c->lock);
	}
}

static void collector_free(struct collector *c)
{
	ring_close(c->events);
	ring_close(c->process);
	for (unsigned i = 0; i < CHUNKS; i++)
		free(c->chunks[i].data);
	free(c->again.data);
	VEC_FREE(&c->queue);
	if (c->backlog_fd >= 0)
		close(c->backlog_fd);
	free(c->pending);
	free(c->hits);
	code_watch_free(c->code);
	maps_watch_free(c->maps);
	free(c->note);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c);
}

int collector_start(const struct recorder_options *options, struct probes *probes,
		    struct recording_writer *writer, struct idle_thread *idle, int notify_fd,
		    struct collector **out, struct pugmark_diag *diag)
{
	struct collector *c = calloc(1, sizeof(*c));
	bool short_of_memory = false;
	pthread_condattr_t by_clock;
	int err;

	if (!c)
		return -ENOMEM;
	c->probes = probes;
	c->writer = writer;
	c->rests_from_ns = options->argv ? clock_now_ns() + STARTED_NS : 0;
	c->backlog_fd = idle ? open(options->output, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
	if (c->backlog_fd >= 0)
		c->room = disk_room_begin(c->backlog_fd);
	/* Without a file for what waits it is written at once, or it would be lost. */
	c->idle = c->backlog_fd >= 0 ? idle : NULL;
	c->notify_fd = notify_fd;
	c->stall_ms = options->debug_stall_ms;
	if (options->max_overhead > 0 || options->forecast) {
		c->hits = calloc(BATCH_MAX_SITES, sizeof(*c->hits));
		short_of_memory |= !c->hits;
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &by_clock);
	pthread_condattr_destroy(&by_clock);
	err = collector_open_rings(c);
	c->pending = malloc(PENDING_MAX * sizeof(*c->pending));
	c->maps = maps_watch_new();
	for (unsigned i = 0; i < CHUNKS; i++) {
		c->chunks[i].data = malloc(CHUNK_BYTES);
		short_of_memory |= !c->chunks[i].data;
		c->free[c->n_free++] = &c->chunks[i];
	}
	if (!err && (!c->pending || !c->maps || short_of_memory))
		err = -ENOMEM;
	if (!err)
		err = -pthread_create(&c->write_thread, NULL, write_main, c);
	if (err) {
		collector_free(c);
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"starting the collector: %s", strerror(-err));
	}
	c->code = code_watch_new(c->maps);
	if (pthread_create(&c->drain_thread, NULL, collector_drain, c)) {
		code_watch_end(c->code);
		c->drained = true;
		pthread_cond_broadcast(&c->changed);
		pthread_join(c->write_thread, NULL);
		collector_free(c);
		return pugmark_diag_set(diag, -EAGAIN, NULL, PUGMARK_NO_OFFSET,
					"starting the collector: no thread to be had");
	}
	*out = c;
	return 0;
}

uint64_t collector_waiting(struct collector *c)
{
	return atomic_load(&c->waiting);
}

int collector_finish(struct collector *c, struct progress *progress)
{
	idle_thread_hurry(c->idle);
	code_watch_end(c->code);
	if (code_watch_note(c->code))
		collector_note(c, code_watch_note(c->code));
	collector_lock(c);
	c->finishing = true;
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->drain_thread, NULL);
	for (uint64_t left = progress->total, now; left; left = now) {
		usleep(20000);
		now = collector_waiting(c);
		if (now < left)
			progress_step(progress, left - now);
	}
	pthread_join(c->write_thread, NULL);
	int err = c->err;
	collector_free(c);
	return err;
}

int collector_error(const struct collector *c)
{
	return __atomic_load_n(&c->err, __ATOMIC_RELAXED);
}

void collector_note(struct collector *c, const char *text)
{
	char *both = NULL;

	collector_lock(c);
	if (asprintf(&both, "%s%s%s", c->note ? c->note : "", c->note ? "; " : "", text) >= 0) {
		free(c->note);
		c->note = both;
	}
	pthread_mutex_unlock(&c->lock);
}
