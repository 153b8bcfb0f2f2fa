/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock.h: the time by which a recording's events are told. */
#ifndef OFFLINE_CLOCK_H
#define OFFLINE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, in ns. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#endif
