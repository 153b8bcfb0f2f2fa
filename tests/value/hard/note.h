/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* note.h: what a program of this folder tells of itself: note() prints its arguments, which is the
 * truth that its recording is held against (tests/e2e/values_hard.sh). */
#ifndef HARD_NOTE_H
#define HARD_NOTE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C"
#endif
	__attribute__((noinline, used)) void
	note(int kind, long value)
{
	char line[99];
	if (write(1, line,
		  snprintf(line, sizeof(line), "note(kind=%d, value=%ld)\n", kind, value)) < 0)
		_exit(9);
}

/* Whether it is less than HARD_MS since the first call: probes that are hit often go within a
 * second. */
static inline int goes_on(void)
{
	static struct timespec first;
	static long ms;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!first.tv_sec) {
		const char *text = getenv("HARD_MS");

		first = now;
		ms = text ? atol(text) : 0;
	}
	if (ms)
		usleep(3000);
	return (now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000 < ms;
}
#endif
