// SPDX-License-Identifier: LGPL-2.1-or-later
/* collector.c: rings to chunks to the writer. Memory is bounded: CHUNKS chunks, a table of pending
 * process records, a table of processes. */
#include "user/record/collector.h"

#include "user/kernel/ring.h"
#include "user/proc/maps_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	CHUNKS = 3,
	CHUNK_BYTES = 4 << 20,
	CHUNK_ROOM = MAPS_MAX_BYTES + (64 << 10), /* what one step of draining may append */
	PENDING_MAX = 4096,
	NOTE_MAX = 4096,
	POLL_MIN_NS = 1000000,
	POLL_MAX_NS = 8000000,
	POLL_SHARE = 128, /* of the ring: while less than that comes between two looks, they move
			     apart */
};
#define FLUSH_NS 1000000000ull
#define KEPT_S 1

struct chunk {
	uint8_t *data;
	size_t len;
	uint64_t since_ns;
};

struct collector {
	struct probes *probes;
	struct recording_writer *writer;
	struct ring_reader *events, *process;
	int notify_fd;
	uint32_t stall_ms;

	pthread_t drain_thread, write_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct chunk chunks[CHUNKS];
	struct chunk *queue[CHUNKS], *free[CHUNKS]; /* under lock, as the counts and flags below */
	unsigned n_queue, n_free;
	unsigned n_flushes, n_flushed; /* asked for, and handed over to be written */
	bool writing;
	bool keeping;		     /* the writer keeps something back until more comes, */
	bool settling;		     /* or somebody wants it, */
	struct timespec keeps_until; /* or this time */
	bool finishing, drained;
	int err;
	char *note;

	struct site_hits *hits;		  /* BATCH_MAX_SITES; NULL: not counted */
	_Atomic uint32_t n_hits;	  /* from here on none */
	_Atomic uint32_t hits_generation; /* those of others are not counted */

	/* Of the draining thread. */
	struct chunk *current;
	struct process_record *pending;
	uint32_t n_pending;
	struct maps_watch *maps;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Hands the current chunk over and takes a free one; @wait for it, or go without. */
static void chunk_turn(struct collector *c, bool wait)
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

static bool chunk_has_room(const struct collector *c)
{
	return c->current && CHUNK_BYTES - c->current->len >= CHUNK_ROOM;
}

/* The caller has seen that there is room. */
static void *chunk_add(struct collector *c, const void *data, uint32_t bytes)
{
	struct chunk *chunk = c->current;
	struct chunk_entry entry = {.bytes = bytes};
	uint32_t padded = (bytes + 7) / 8 * 8;
	uint8_t *at = chunk->data + chunk->len;

	if (!chunk->len)
		chunk->since_ns = now_ns();
	memcpy(at, &entry, sizeof(entry));
	at += sizeof(entry);
	memcpy(at, data, bytes);
	memset(at + bytes, 0, padded - bytes);
	chunk->len += sizeof(entry) + padded;
	return at;
}

static void look_at_process(struct collector *c, int32_t pid, uint32_t execs)
{
	uint32_t bytes;

	if (!chunk_has_room(c))
		return;
	const struct chunk_text *text = maps_watch_look(c->maps, pid, execs, now_ns(), &bytes);
	if (text)
		chunk_add(c, text, bytes);
}

static void count_hits(struct collector *c, const struct batch *batch, size_t bytes)
{
	const struct batch_record *r = (const struct batch_record *)(batch + 1);
	uint32_t n = (bytes - sizeof(*batch)) / sizeof(*r);

	if (batch->generation != c->hits_generation)
		return;
	for (uint32_t i = 0; i < n && i < batch->n; i++) {
		uint32_t site = r[i].head & HEAD_SITE_MASK;
		if (r[i].head >> HEAD_RECORD_SHIFT != RECORD_WITNESS)
			continue;
		atomic_fetch_add_explicit(&c->hits[site].all, 1, memory_order_relaxed);
		if (r[i].head & HEAD_SNAPSHOT)
			atomic_fetch_add_explicit(&c->hits[site].stacks, 1, memory_order_relaxed);
		if (site >= c->n_hits)
			c->n_hits = site + 1;
	}
}

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

static int on_event(void *context, void *data, size_t bytes)
{
	struct collector *c = context;
	const struct batch *batch = data;

	chunk_add(c, data, bytes);
	if (batch->kind == RING_BATCH && bytes >= sizeof(*batch)) {
		if (c->hits)
			count_hits(c, batch, bytes);
		look_at_process(c, batch->pid, batch->execs);
	}
	if (!chunk_has_room(c))
		chunk_turn(c, false);
	return chunk_has_room(c) ? 0 : -EAGAIN;
}

static int on_process(void *context, void *data, size_t bytes)
{
	struct collector *c = context;

	if (bytes == sizeof(*c->pending))
		memcpy(&c->pending[c->n_pending++], data, bytes);
	return c->n_pending < PENDING_MAX ? 0 : -EAGAIN;
}

/* Ends all writing and tells whoever waits. Under the lock. */
static void fail(struct collector *c, int err)
{
	uint64_t one = 1;

	if (c->err)
		return;
	c->err = err;
	if (write(c->notify_fd, &one, sizeof(one)) < 0)
		c->finishing = true;
}

static void consume(struct collector *c, struct ring_reader *ring)
{
	if (ring_consume(ring) != -EBADMSG)
		return;
	pthread_mutex_lock(&c->lock);
	fail(c, -EBADMSG);
	pthread_mutex_unlock(&c->lock);
}

/* One pass over both rings. A task's last message comes through the process ring, all that it sent
 * before through the events ring. So process records are read first, and passed on only once the
 * events ring is drained up to where it was filled at that time. Returns whether there was
 * anything. */
static bool drain(struct collector *c)
{
	if (!chunk_has_room(c))
		chunk_turn(c, false);
	if (!chunk_has_room(c))
		return false;
	if (c->n_pending < PENDING_MAX)
		consume(c, c->process);
	unsigned long filled = ring_written(c->events);
	unsigned long before = ring_read(c->events);
	consume(c, c->events);
	unsigned long after = ring_read(c->events);
	if ((long)(after - filled) < 0)
		return after != before;
	bool any = after != before || c->n_pending;
	for (uint32_t i = 0; i < c->n_pending; i++) {
		if (!chunk_has_room(c))
			chunk_turn(c, false);
		if (!chunk_has_room(c)) {
			memmove(c->pending, c->pending + i,
				(c->n_pending - i) * sizeof(*c->pending));
			c->n_pending -= i;
			return true;
		}
		chunk_add(c, &c->pending[i], sizeof(c->pending[i]));
	}
	c->n_pending = 0;
	return any;
}

static void pass_note(struct collector *c)
{
	char *note = NULL;

	pthread_mutex_lock(&c->lock);
	if (chunk_has_room(c)) {
		note = c->note;
		c->note = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	if (!note)
		return;
	size_t len = strnlen(note, NOTE_MAX);
	struct chunk_text *text = malloc(sizeof(*text) + len);
	if (text) {
		*text = (struct chunk_text){.kind = CHUNK_NOTE, .time_ns = now_ns()};
		memcpy(text->text, note, len);
		chunk_add(c, text, sizeof(*text) + len);
	}
	free(text);
	free(note);
}

/* Drains the rest, now that nobody writes to the rings any more. */
static void drain_last(struct collector *c)
{
	for (;;) {
		chunk_turn(c, !chunk_has_room(c));
		drain(c);
		if (ring_is_empty(c->events) && ring_is_empty(c->process) && !c->n_pending)
			break;
	}
	chunk_turn(c, true);
	pass_note(c);
	chunk_turn(c, false);
}

/* Hands over what was drained, if somebody waits for it. */
static void pass_flush(struct collector *c)
{
	pthread_mutex_lock(&c->lock);
	unsigned asked = c->n_flushes;
	bool due = asked != c->n_flushed;
	pthread_mutex_unlock(&c->lock);
	if (!due)
		return;
	drain(c); /* what came before it was asked for */
	chunk_turn(c, false);
	pthread_mutex_lock(&c->lock);
	c->n_flushed = asked;
	pthread_mutex_unlock(&c->lock);
}

void collector_flush(struct collector *c)
{
	pthread_mutex_lock(&c->lock);
	unsigned mine = ++c->n_flushes;
	bool done = false;
	for (int ms = 0; !done && ms < 1000; ms++) {
		pthread_mutex_unlock(&c->lock);
		usleep(1000);
		pthread_mutex_lock(&c->lock);
		done = (int)(c->n_flushed - mine) >= 0 && !c->n_queue && !c->writing;
		if (done && c->keeping) {
			c->settling = true;
			pthread_cond_broadcast(&c->changed);
			done = false;
		}
	}
	pthread_mutex_unlock(&c->lock);
}

/* Raises this thread's priority: many threads fill the ring and one empties it, so on a busy
 * machine it falls behind if it only takes its turn. Without CAP_SYS_NICE it does. */
static void go_first(void)
{
	setpriority(PRIO_PROCESS, gettid(), -20); /* of this thread: Linux keeps that apart */
}

/* How far each ring was read. */
struct drained {
	unsigned long events, process;
};

static struct drained drained_so_far(const struct collector *c)
{
	return (struct drained){ring_read(c->events), ring_read(c->process)};
}

/* How long to wait until the next look. Each look wakes a thread that has priority over what is
 * traced, which then moves to another processor; so there are no more looks than the ring has room
 * for. Births and deaths are looked at soon, while /proc still knows the processes. @before: the
 * last look. */
static uint64_t next_wait_ns(const struct collector *c, struct drained before, uint64_t wait_ns)
{
	struct drained now = drained_so_far(c);
	size_t came = ring_written(c->events) - before.events;

	if (now.process != before.process || came > ring_size(c->events) / POLL_SHARE)
		return POLL_MIN_NS;
	return wait_ns * 2 > POLL_MAX_NS ? POLL_MAX_NS : wait_ns * 2;
}

static void *drain_main(void *context)
{
	struct collector *c = context;
	uint64_t wait_ns = POLL_MIN_NS;
	bool finishing = false;

	go_first();
	while (!finishing) {
		struct drained before = drained_so_far(c);
		bool any = drain(c);

		pass_note(c);
		pass_flush(c);
		if (any && c->stall_ms) {
			usleep(c->stall_ms * 1000);
			c->stall_ms = 0;
		}
		if (c->current && c->current->len && now_ns() - c->current->since_ns > FLUSH_NS)
			chunk_turn(c, false);
		wait_ns = next_wait_ns(c, before, wait_ns);
		nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
		pthread_mutex_lock(&c->lock);
		finishing = c->finishing;
		pthread_mutex_unlock(&c->lock);
	}
	drain_last(c);
	pthread_mutex_lock(&c->lock);
	c->drained = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Waits for something to write: the next chunk, or NULL: what was kept back, or, where that is
 * nothing, nothing more comes. Under the lock. */
static struct chunk *wait_for_chunk(struct collector *c)
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

/* A chunk that was full is soon followed by another one. */
static int write_chunk(struct collector *c, const struct chunk *chunk)
{
	if (!chunk)
		return recording_writer_settle(c->writer);
	return recording_writer_chunk(c->writer, chunk->data, chunk->len,
				      CHUNK_BYTES - chunk->len < CHUNK_ROOM);
}

static void *write_main(void *context)
{
	struct collector *c = context;

	go_first();
	for (;;) {
		pthread_mutex_lock(&c->lock);
		struct chunk *chunk = wait_for_chunk(c);
		if (!chunk && !c->keeping) {
			pthread_mutex_unlock(&c->lock);
			return NULL;
		}
		c->writing = true;
		pthread_mutex_unlock(&c->lock);

		int err = write_chunk(c, chunk);

		pthread_mutex_lock(&c->lock);
		if (chunk)
			c->free[c->n_free++] = chunk;
		c->keeping = recording_writer_keeps(c->writer);
		c->settling = false;
		clock_gettime(CLOCK_MONOTONIC, &c->keeps_until);
		c->keeps_until.tv_sec += KEPT_S;
		c->writing = false;
		if (err)
			fail(c, err);
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
	free(c->pending);
	free(c->hits);
	maps_watch_free(c->maps);
	free(c->note);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c);
}

int collector_start(const struct recorder_options *options, struct probes *probes,
		    struct recording_writer *writer, int notify_fd, struct collector **out,
		    struct pugmark_diag *diag)
{
	struct collector *c = calloc(1, sizeof(*c));
	bool short_of_memory = false;
	pthread_condattr_t by_clock;
	int err;

	if (!c)
		return -ENOMEM;
	c->probes = probes;
	c->writer = writer;
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
	c->events = ring_open(probes_events_fd(probes), on_event, c);
	err = c->events ? 0 : -errno;
	c->process = ring_open(probes_process_fd(probes), on_process, c);
	err = err || c->process ? err : -errno;
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
	if (pthread_create(&c->drain_thread, NULL, drain_main, c)) {
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

int collector_finish(struct collector *c)
{
	pthread_mutex_lock(&c->lock);
	c->finishing = true;
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->drain_thread, NULL);
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

	pthread_mutex_lock(&c->lock);
	if (asprintf(&both, "%s%s%s", c->note ? c->note : "", c->note ? "; " : "", text) >= 0) {
		free(c->note);
		c->note = both;
	}
	pthread_mutex_unlock(&c->lock);
}
