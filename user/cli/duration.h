/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* duration.h: how long something took, and as text: in a unit that fits it, or between two bounds.
 * All views write durations by these functions; the page has its own in app.js. */
#ifndef USER_DURATION_H
#define USER_DURATION_H

#include <stdint.h>

enum { DURATION_TEXT = 32, TIME_BOUNDS_TEXT = 2 * DURATION_TEXT + 2 };

struct time_bounds {
	uint64_t min_ns, max_ns;
};

static inline void time_bounds_add(struct time_bounds *to, struct time_bounds from)
{
	to->min_ns += from.min_ns;
	to->max_ns += from.max_ns;
}

/* "0ns", "12.34us", "1.500s": four digits. Returns the length, which the NUL is not part of. */
unsigned duration_text(char out[DURATION_TEXT], uint64_t ns);

/* "<9us", "3us..9us", or "9us" where both are the same. Returns the length. */
unsigned time_bounds_text(char out[TIME_BOUNDS_TEXT], struct time_bounds t);

#endif
