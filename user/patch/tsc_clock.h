/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tsc_clock.h: CLOCK_MONOTONIC from what rdtsc said. The kernel makes that clock of the counter by
 * a rate that it adjusts; so pairs of both are taken often, and times between are interpolated. */
#ifndef USER_PATCH_TSC_CLOCK_H
#define USER_PATCH_TSC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct tsc_clock;

/* Whether the kernel's own clock is made of the counter: then it runs alike on all processors. */
bool tsc_is_clock(void);
/* NULL: no memory. */
struct tsc_clock *tsc_clock_new(void);
void tsc_clock_free(struct tsc_clock *clock);
/* Takes a pair, if the last one is old enough; does not wait for who asks for times, but leaves it
 * to the next step. Any thread may call this, and what follows. */
void tsc_clock_step(struct tsc_clock *clock);
/* The time at @tsc, which has passed, in ns. */
uint64_t tsc_clock_ns(struct tsc_clock *clock, uint64_t tsc);
/* By how much any time that was asked for may have been wrong: what taking pairs took, and by how
 * much the rate between two pairs was another one than over all. */
uint64_t tsc_clock_slack_ns(struct tsc_clock *clock);

#endif
