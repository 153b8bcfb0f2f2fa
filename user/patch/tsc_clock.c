// SPDX-License-Identifier: LGPL-2.1-or-later
/* tsc_clock.c: see tsc_clock.h. */
#include "user/patch/tsc_clock.h"

#include "offline/base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NS 20000000ull
#define LEAST_NS 1000000ull

enum { TRIES = 5, PAIRS_MAX = 1 << 16 };

/* Somewhere within `width` ticks before `tsc` it was `ns`. */
struct pair {
	uint64_t tsc, ns, width;
};

struct tsc_clock {
	pthread_mutex_t lock;
	struct pair *pairs;
	size_t n, cap;
	uint64_t slack_ns;
	uint64_t thinned_ns; /* by how much times may be more wrong since pairs were dropped */
};

bool tsc_is_clock(void)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	char name[32] = "";

	if (f) {
		if (!fgets(name, sizeof(name), f))
			*name = 0;
		fclose(f);
	}
	return !strcmp(name, "tsc\n");
}

static uint64_t counter(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

static struct pair take_pair(void)
{
	struct pair best = {.width = UINT64_MAX};

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = counter(), ns = clock_now_ns(), after = counter();

		if (after - before < best.width)
			best = (struct pair){after, ns, after - before};
	}
	return best;
}

/* What @ticks are in ns, by the rate between two pairs. */
static uint64_t scale(const struct pair *from, const struct pair *to, uint64_t ticks)
{
	return (unsigned __int128)ticks * (to->ns - from->ns) / (to->tsc - from->tsc);
}

/* Drops every other pair, but for the first and the last; what they say is then interpolated. */
static void thin(struct tsc_clock *c)
{
	uint64_t most_ns = 0;
	size_t n = 1;

	for (size_t i = 2; i < c->n; i += 2) {
		const struct pair *from = &c->pairs[n - 1], mid = c->pairs[i - 1];
		const struct pair *to = &c->pairs[i];
		uint64_t ns = from->ns + scale(from, to, mid.tsc - from->tsc);
		uint64_t wrong = ns > mid.ns ? ns - mid.ns : mid.ns - ns;

		most_ns = wrong > most_ns ? wrong : most_ns;
		c->pairs[n++] = *to;
	}
	if (c->n % 2 == 0)
		c->pairs[n++] = c->pairs[c->n - 1];
	c->n = n;
	c->thinned_ns += most_ns;
}

static void add_pair(struct tsc_clock *c)
{
	/* What is asked for more often than clocks can tell apart moves the last one on. */
	if (c->n > 1 && clock_now_ns() - c->pairs[c->n - 1].ns < LEAST_NS) {
		c->pairs[c->n - 1] = take_pair();
		return;
	}
	if (c->n == PAIRS_MAX)
		thin(c);
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 256;
		struct pair *grown = realloc(c->pairs, cap * sizeof(*grown));

		if (!grown)
			return; /* the last two are far apart then, which the slack tells */
		c->pairs = grown;
		c->cap = cap;
	}
	c->pairs[c->n++] = take_pair();
}

struct tsc_clock *tsc_clock_new(void)
{
	struct tsc_clock *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	add_pair(c);
	if (!c->n) {
		tsc_clock_free(c);
		return NULL;
	}
	return c;
}

void tsc_clock_free(struct tsc_clock *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	free(c->pairs);
	free(c);
}

void tsc_clock_step(struct tsc_clock *c)
{
	/* Who holds it may be a thread that rests (user/kernel/idle_thread.h). */
	if (pthread_mutex_trylock(&c->lock))
		return;
	if (clock_now_ns() - c->pairs[c->n - 1].ns > STEP_NS)
		add_pair(c);
	pthread_mutex_unlock(&c->lock);
}

static void note_slack(struct tsc_clock *c, const struct pair *from, const struct pair *to)
{
	const struct pair *first = &c->pairs[0], *last = &c->pairs[c->n - 1];
	uint64_t here = to->ns - from->ns, over_all = scale(first, last, to->tsc - from->tsc);
	uint64_t width = scale(first, last, from->width > to->width ? from->width : to->width);
	uint64_t slack = width + (here > over_all ? here - over_all : over_all - here);

	if (slack > c->slack_ns)
		c->slack_ns = slack;
}

uint64_t tsc_clock_ns(struct tsc_clock *c, uint64_t tsc)
{
	uint64_t now = counter();

	/* The traced program can write what it likes. */
	tsc = tsc < now ? tsc : now;
	pthread_mutex_lock(&c->lock);
	if (c->n == 1 || tsc > c->pairs[c->n - 1].tsc)
		add_pair(c);
	size_t low = 0, high = c->n - 1;

	while (low + 1 < high) {
		size_t mid = low + (high - low) / 2;

		if (c->pairs[mid].tsc <= tsc)
			low = mid;
		else
			high = mid;
	}
	const struct pair *from = &c->pairs[low], *to = &c->pairs[high];
	uint64_t ns = from->ns;
	if (to->tsc > from->tsc && tsc > from->tsc) {
		note_slack(c, from, to);
		ns += scale(from, to, tsc - from->tsc);
	}
	pthread_mutex_unlock(&c->lock);
	return ns;
}

uint64_t tsc_clock_slack_ns(struct tsc_clock *c)
{
	pthread_mutex_lock(&c->lock);
	uint64_t slack = c->slack_ns + c->thinned_ns;
	pthread_mutex_unlock(&c->lock);
	return slack;
}
