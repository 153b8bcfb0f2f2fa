// SPDX-License-Identifier: LGPL-2.1-or-later
/* drain_priority.c: see drain_priority.h.
 *
 *   rests  ── the kernel wakes, or it is not allowed ──>  hurries, for a second
 *   rests  ── 1/8 of the ring waits, 1/5 of a lane ────>  hurries, for 1/20 of a second
 *
 * Whoever waits for the server that is recorded is placed where nothing runs but what rests. Of a
 * thread that hurries it takes the place, or that of the server.
 */
#include "user/values/record/drain_priority.h"

#include "user/kernel/idle_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	LOOK_MS = 8,
	WOKEN_MS = 1000,
	MUCH_MS = 48,
	MUCH_SHARE = 8, /* of the ring; what comes between two looks is far less than the rest */
	/* A lane may be filled within 20 ms. Where it begins to, the next look is soon, so that
	 * most of the lane is left while the thread waits for its turn. */
	MUCH_LANE_SHARE = 5,
	SOON_LANE_SHARE = 16,
	SOON_MS = 2,
};

struct drain_priority {
	const struct ring_reader *ring;
	bool (*waits)(const void *ctx, uint32_t share);
	const void *ctx;
	struct idle_thread drains;
	int epoll;
	atomic_bool allowed, ends;
	pthread_t thread;
};

static bool is_much(const struct drain_priority *p)
{
	return ring_written(p->ring) - ring_read(p->ring) > ring_size(p->ring) / MUCH_SHARE ||
	       p->waits(p->ctx, MUCH_LANE_SHARE);
}

static void *watch_main(void *context)
{
	struct drain_priority *p = context;
	struct epoll_event event;
	int hurries_ms = WOKEN_MS, look_ms = LOOK_MS;

	while (!p->ends) {
		if (epoll_wait(p->epoll, &event, 1, look_ms) > 0 || !p->allowed)
			hurries_ms = WOKEN_MS;
		else if (is_much(p) && hurries_ms < MUCH_MS)
			hurries_ms = MUCH_MS;
		look_ms = LOOK_MS;
		if (hurries_ms > 0) {
			idle_thread_hurry(&p->drains);
		} else {
			idle_thread_may_rest(&p->drains);
			if (p->waits(p->ctx, SOON_LANE_SHARE))
				look_ms = SOON_MS;
		}
		hurries_ms -= hurries_ms > 0 ? look_ms : 0;
	}
	return NULL;
}

struct drain_priority *drain_priority_begin(const struct ring_reader *ring, int ring_fd,
					    bool (*waits)(const void *ctx, uint32_t share),
					    const void *ctx)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	struct drain_priority *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->ring = ring;
	p->waits = waits;
	p->ctx = ctx;
	idle_thread_hurry(&p->drains);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll >= 0 && !epoll_ctl(p->epoll, EPOLL_CTL_ADD, ring_fd, &event) &&
	    !pthread_create(&p->thread, NULL, watch_main, p))
		return p;
	if (p->epoll >= 0)
		close(p->epoll);
	free(p);
	return NULL;
}

void drain_priority_rest(struct drain_priority *p)
{
	if (p && !atomic_load(&p->drains.resting))
		idle_thread_rest(&p->drains);
}

void drain_priority_allow(struct drain_priority *p, bool allowed)
{
	if (!p)
		return;
	p->allowed = allowed;
	if (!allowed)
		idle_thread_hurry(&p->drains);
}

void drain_priority_hurry(struct drain_priority *p)
{
	drain_priority_allow(p, false);
}

void drain_priority_end(struct drain_priority *p)
{
	if (!p)
		return;
	p->ends = true;
	pthread_join(p->thread, NULL);
	close(p->epoll);
	free(p);
}
