/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* durations.h: how long many things took, in memory that does not grow with their number: counts in
 * buckets whose width is at most 1/32 of where they begin. Smallest and largest are exact. */
#ifndef USER_VIEW_DURATIONS_H
#define USER_VIEW_DURATIONS_H

#include <stdint.h>

enum { DURATIONS_SUB = 32, DURATIONS_BUCKETS = DURATIONS_SUB * 60 };

struct durations {
	uint64_t n, min_ns, max_ns;
	uint32_t *counts; /* heap, made with the first; saturating */
};

/* 0 or -ENOMEM. */
int durations_add(struct durations *durations, uint64_t ns);
/* Adds all of @from. 0 or -ENOMEM. */
int durations_merge(struct durations *durations, const struct durations *from);
void durations_deinit(struct durations *durations);
/* Bounds of the smallest duration that at least the share @q (0 to 1) of all does not exceed, in
 * ns: the ends of its bucket, within the smallest and the largest. 0: there are none. */
void durations_quantile(const struct durations *durations, double q, uint64_t *low_ns,
			uint64_t *high_ns);
/* How many there are of each power of two: counts[i] of those from 2^i to 2^(i + 1), and in
 * counts[0] also those of 0. Saturating. */
enum { DURATIONS_POWERS = 64 };
void durations_powers(const struct durations *durations, uint32_t counts[DURATIONS_POWERS]);
/* How many took @ns or longer, and at least how long these took together; of the bucket that @ns
 * falls into none counts, so that it is certain of those that do. */
uint64_t durations_above(const struct durations *durations, uint64_t ns, uint64_t *sum_ns);

#endif
