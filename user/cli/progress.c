// SPDX-License-Identifier: LGPL-2.1-or-later
/* progress.c: see progress.h. A thread of its own prints, so that work which cannot say how far it
 * is shows that it is alive. */
#include "user/cli/progress.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 500, EVERY_MS = 100, LOG_FIRST_MS = 5000, LOG_EVERY_MS = 10000 };

static struct timespec now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts;
}

enum { TELLS_PERMILLE = 50 }; /* before that nothing can be said of how long it takes */

static void show(struct progress *p, double seconds)
{
	uint64_t done = p->done;
	uint32_t permille = p->permille ? *p->permille : 0;

	if (permille > 1000)
		permille = 1000;
	if (!p->terminal) {
		if (permille >= TELLS_PERMILLE)
			fprintf(stderr, "pugmark: %s: %u %%, %.0f s, about %.0f s left\n", p->what,
				permille / 10, seconds, seconds * (1000 - permille) / permille);
	} else if (permille >= TELLS_PERMILLE)
		fprintf(stderr, "\r%s  %u %%  %.1f s, about %.0f s left\033[K", p->what,
			permille / 10, seconds, seconds * (1000 - permille) / permille);
	else if (p->total)
		fprintf(stderr, "\r%s  %.0f %%  %.1f s\033[K", p->what,
			100.0 * (done < p->total ? done : p->total) / p->total, seconds);
	else
		fprintf(stderr, "\r%s  %.1f s\033[K", p->what, seconds);
}

static void *tick(void *arg)
{
	struct progress *p = arg;
	struct timespec start = now(), next = start;
	long wait_ms = p->terminal ? FIRST_MS : LOG_FIRST_MS;
	bool shown = false;

	pthread_mutex_lock(&p->lock);
	while (!p->end) {
		next.tv_sec += wait_ms / 1000;
		next.tv_nsec += wait_ms % 1000 * 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		int err = 0;
		while (!p->end && err != ETIMEDOUT)
			err = pthread_cond_timedwait(&p->ended, &p->lock, &next);
		if (p->end)
			break;
		show(p, (double)(next.tv_sec - start.tv_sec) +
				(double)(next.tv_nsec - start.tv_nsec) / 1e9);
		shown = true;
		wait_ms = p->terminal ? EVERY_MS : LOG_EVERY_MS;
	}
	pthread_mutex_unlock(&p->lock);
	if (shown && p->terminal)
		fputs("\r\033[K", stderr);
	return NULL;
}

void progress_start(struct progress *p, const char *what, uint64_t total, bool quiet)
{
	*p = (struct progress){.what = what, .total = total};
	if (quiet)
		return;
	p->terminal = isatty(STDERR_FILENO);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->ended, &attr);
	pthread_condattr_destroy(&attr);
	p->on = !pthread_create(&p->ticker, NULL, tick, p);
}

void progress_phase(struct progress *p, const char *what)
{
	p->what = what;
}

void progress_by(struct progress *p, const _Atomic uint32_t *permille)
{
	if (!p->on)
		return;
	pthread_mutex_lock(&p->lock);
	p->permille = permille;
	pthread_mutex_unlock(&p->lock);
}

void progress_step(struct progress *p, uint64_t n)
{
	atomic_fetch_add_explicit(&p->done, n, memory_order_relaxed);
}

void progress_end(struct progress *p)
{
	if (!p->on)
		return;
	pthread_mutex_lock(&p->lock);
	p->end = true;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->ticker, NULL);
	pthread_cond_destroy(&p->ended);
	pthread_mutex_destroy(&p->lock);
	p->on = false;
}
