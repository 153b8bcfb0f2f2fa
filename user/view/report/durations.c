// SPDX-License-Identifier: LGPL-2.1-or-later
/* durations.c: see durations.h. Below DURATIONS_SUB each ns has a bucket; from there on each power
 * of two is divided into as many. */
#include "user/view/report/durations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned bucket_of(uint64_t ns)
{
	if (ns < DURATIONS_SUB)
		return (unsigned)ns;
	unsigned power = 63 - (unsigned)__builtin_clzll(ns); /* at least 5 */
	return (power - 4) * DURATIONS_SUB + (unsigned)(ns >> (power - 5)) - DURATIONS_SUB;
}

static uint64_t begin_of(unsigned bucket)
{
	if (bucket < DURATIONS_SUB)
		return bucket;
	unsigned power = bucket / DURATIONS_SUB + 4;
	return (uint64_t)(bucket % DURATIONS_SUB + DURATIONS_SUB) << (power - 5);
}

static int room(struct durations *d)
{
	if (!d->counts)
		d->counts = calloc(DURATIONS_BUCKETS, sizeof(*d->counts));
	return d->counts ? 0 : -ENOMEM;
}

int durations_add(struct durations *d, uint64_t ns)
{
	if (room(d))
		return -ENOMEM;
	uint32_t *count = &d->counts[bucket_of(ns)];
	*count += *count != UINT32_MAX;
	if (!d->n || ns < d->min_ns)
		d->min_ns = ns;
	if (ns > d->max_ns)
		d->max_ns = ns;
	d->n++;
	return 0;
}

int durations_merge(struct durations *d, const struct durations *from)
{
	if (!from->n)
		return 0;
	if (room(d))
		return -ENOMEM;
	for (unsigned i = 0; i < DURATIONS_BUCKETS; i++) {
		uint64_t sum = (uint64_t)d->counts[i] + from->counts[i];
		d->counts[i] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
	}
	if (!d->n || from->min_ns < d->min_ns)
		d->min_ns = from->min_ns;
	if (from->max_ns > d->max_ns)
		d->max_ns = from->max_ns;
	d->n += from->n;
	return 0;
}

void durations_deinit(struct durations *d)
{
	free(d->counts);
	*d = (struct durations){0};
}

void durations_quantile(const struct durations *d, double q, uint64_t *low_ns, uint64_t *high_ns)
{
	uint64_t rank = (uint64_t)(q * (double)d->n), below = 0;
	rank += (double)rank < q * (double)d->n; /* rounded up */
	*low_ns = *high_ns = d->max_ns;
	for (unsigned i = 0; d->n && i < DURATIONS_BUCKETS; i++) {
		below += d->counts[i];
		if (!below || below < rank)
			continue;
		uint64_t low = begin_of(i), high = begin_of(i + 1) - 1;
		*low_ns = low < d->min_ns ? d->min_ns : low;
		*high_ns = high > d->max_ns ? d->max_ns : high;
		return;
	}
}

uint64_t durations_above(const struct durations *d, uint64_t ns, uint64_t *sum_ns)
{
	uint64_t n = 0;
	*sum_ns = 0;
	for (unsigned i = bucket_of(ns) + 1; d->n && i < DURATIONS_BUCKETS; i++) {
		n += d->counts[i];
		*sum_ns += d->counts[i] * begin_of(i);
	}
	return n;
}

void durations_powers(const struct durations *d, uint32_t counts[DURATIONS_POWERS])
{
	memset(counts, 0, DURATIONS_POWERS * sizeof(*counts));
	for (unsigned i = 0; d->n && i < DURATIONS_BUCKETS; i++) {
		uint64_t ns = begin_of(i);
		uint32_t *count = &counts[ns ? 63 - __builtin_clzll(ns) : 0];
		uint64_t sum = (uint64_t)*count + d->counts[i];
		*count = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
	}
}
