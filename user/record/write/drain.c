// SPDX-License-Identifier: LGPL-2.1-or-later
/* drain.c: from the rings to chunks, on a timed poll. */
#include "user/record/write/collector_impl.h"

#include "user/kernel/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NOTE_MAX = 4096,
	POLL_MIN_NS = 1000000,
	POLL_MAX_NS = 8000000,
	POLL_SHARE = 128, /* of the ring: while less than that comes between two looks, they move
			     apart */
};
#define FLUSH_NS 1000000000ull

static void look_at_process(struct collector *c, int32_t pid, uint32_t execs)
{
	uint32_t bytes;

	if (!chunk_has_room(c))
		return;
	const struct chunk_text *text =
		maps_watch_look(c->maps, pid, execs, clock_now_ns(), &bytes);
	if (!text)
		return;
	chunk_add(c, text, bytes);
	c->looks_due = true;
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

int collector_open_rings(struct collector *c)
{
	c->events = ring_open(probes_events_fd(c->probes), on_event, c);
	if (!c->events)
		return -errno;
	c->process = ring_open(probes_process_fd(c->probes), on_process, c);
	return c->process ? 0 : -errno;
}

static void consume(struct collector *c, struct ring_reader *ring)
{
	if (ring_consume(ring) != -EBADMSG)
		return;
	collector_lock(c);
	collector_fail(c, -EBADMSG);
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

	collector_lock(c);
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
		*text = (struct chunk_text){.kind = CHUNK_NOTE, .time_ns = clock_now_ns()};
		memcpy(text->text, note, len);
		chunk_add(c, text, sizeof(*text) + len);
	}
	free(text);
	free(note);
}

/* Takes over what has been read of names of code, as far as there is room. */
static void pass_code(struct collector *c)
{
	struct chunk_code *text;
	uint32_t bytes;

	while (chunk_has_room(c) && (text = code_watch_take(c->code, &bytes))) {
		chunk_add(c, text, bytes);
		free(text);
	}
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
	pass_code(c);
	chunk_turn(c, false);
}

/* Hands over what was drained, if somebody waits for it. */
static void pass_flush(struct collector *c)
{
	collector_lock(c);
	unsigned asked = c->n_flushes;
	bool due = asked != c->n_flushed;
	pthread_mutex_unlock(&c->lock);
	if (!due)
		return;
	drain(c); /* what came before it was asked for */
	chunk_turn(c, false);
	collector_lock(c);
	c->n_flushed = asked;
	pthread_mutex_unlock(&c->lock);
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

void *collector_drain(void *context)
{
	struct collector *c = context;
	uint64_t wait_ns = POLL_MIN_NS;
	bool finishing = false;

	collector_go_first();
	while (!finishing) {
		struct drained before = drained_so_far(c);
		bool any = drain(c);

		pass_note(c);
		pass_code(c);
		pass_flush(c);
		if (any && c->stall_ms) {
			usleep(c->stall_ms * 1000);
			c->stall_ms = 0;
		}
		if (c->current && c->current->len &&
		    (c->looks_due || clock_now_ns() - c->current->since_ns > FLUSH_NS))
			chunk_turn(c, false);
		c->looks_due = false;
		wait_ns = next_wait_ns(c, before, wait_ns);
		nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
		collector_lock(c);
		finishing = c->finishing;
		pthread_mutex_unlock(&c->lock);
	}
	drain_last(c);
	collector_lock(c);
	c->drained = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}
