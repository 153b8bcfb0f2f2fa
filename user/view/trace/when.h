/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* when.h: a moment of a recording as a person writes it: a time after its start, or a time of
 * day. */
#ifndef USER_VIEW_WHEN_H
#define USER_VIEW_WHEN_H

#include <stdbool.h>
#include <stdint.h>

enum when_kind { WHEN_NOT_SAID, WHEN_AFTER_START, WHEN_TIME_OF_DAY, WHEN_DATE };

struct when {
	uint8_t kind; /* enum when_kind */
	uint64_t ns;  /* after the start, or after midnight, local time; WHEN_DATE: the date's */
	int year, month, day;
};

/* "10", "1.5", "20ms", "3us", "7ns": seconds, or as the unit says. */
bool when_parse_duration(const char *text, uint64_t *out_ns);
/* A duration as above, or "HH:MM[:SS[.FRACTION]]", or that after "YYYY-MM-DD" and a T or a
 * blank. */
bool when_parse(const char *text, struct when *out);
/* The moment as CLOCK_MONOTONIC, of a recording that began at @start_ns, when CLOCK_REALTIME was
 * @start_real_ns, and whose last event is at @last_ns. A time of day is of the day of the start; of
 * the next one where only that lies in the recording. What lies before the start of the clock is 0.
 * Times of day are local time, as the environment says (TZ). */
uint64_t when_resolve(const struct when *when, uint64_t start_ns, uint64_t start_real_ns,
		      uint64_t last_ns);

#endif
