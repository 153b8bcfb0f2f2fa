// SPDX-License-Identifier: LGPL-2.1-or-later
/* drain_priority.c: see drain_priority.h.
 *
 *   rests  ── the kernel wakes, or it is not allowed ──>  hurries, for a second
 *   rests  ── 1/8 of the ring waits ───────────────────>  hurries, for 1/20 of a second
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
	WOKEN_LOOKS = 1000 / LOOK_MS,
	MUCH_LOOKS = 48 / LOOK_MS,
	MUCH_SHARE = 8, /* of the ring; what comes between two looks is far less than the rest */
};

struct drain_priority {
	const struct ring_reader *ring;
	bool (*waits)(const void *ctx);
	const void *ctx;
	struct idle_thread drains;
	int epoll;
	atomic_bool allowed, ends;
	pthread_t thread;
};

static bool is_much(const struct drain_priority *p)
{
	return ring_written(p->ring) - ring_read(p->ring) > ring_size(p->ring) / MUCH_SHARE ||
	       p->waits(p->ctx);
}

static void *watch_main(void *context)
{
	struct drain_priority *p = context;
	struct epoll_event event;
	int hurries = WOKEN_LOOKS; /* so many looks more */

	while (!p->ends) {
		if (epoll_wait(p->epoll, &event, 1, LOOK_MS) > 0 || !p->allowed)
			hurries = WOKEN_LOOKS;
		else if (is_much(p) && hurries < MUCH_LOOKS)
			hurries = MUCH_LOOKS;
		if (hurries)
			idle_thread_hurry(&p->drains);
		else
			idle_thread_may_rest(&p->drains);
		hurries -= hurries > 0;
	}
	return NULL;
}

struct drain_priority *drain_priority_begin(const struct ring_reader *ring, int ring_fd,
					    bool (*waits)(const void *ctx), const void *ctx)
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
