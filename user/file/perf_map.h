/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* perf_map.h: the text in which programs that make code at run time say what it is called
 * (/tmp/perf-PID.map: linux/tools/perf/Documentation/jit-interface.txt): a line for each piece,
 *
 *   START SIZE NAME     both numbers in hex, with 0x or without; the name up to the end of the line
 *
 * Its author is whoever runs the program: nothing here is taken to be true, and every length is
 * bounded. Files are for others (user/proc/code_names.h). */
#ifndef USER_PERF_MAP_H
#define USER_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PERF_MAP_LINE_MAX = 4096, /* a longer one is passed over */
	PERF_MAP_NAME_MAX = 240,  /* bytes of a name that are kept */
};
/* No piece of code is longer, and none lies higher. */
#define PERF_MAP_SIZE_MAX (UINT64_C(1) << 30)
#define PERF_MAP_ADDR_MAX (UINT64_C(1) << 47)

struct perf_map_line {
	uint64_t start, size; /* run-time addresses */
	const char *name;     /* not terminated, and any bytes but NUL and newlines */
	size_t name_len;
};

/* What is between two calls; zeroed to begin with. */
struct perf_map {
	bool skips; /* in the midst of a line that is too long */
};

/* Takes the next line of the @len bytes at @bytes. Returns how many bytes that was; 0: no whole
 * line is there, and more is to be read behind them (of PERF_MAP_LINE_MAX bytes some are always
 * taken).
 * *@is: the line says what a piece of code is called, and @line borrows from @bytes. */
size_t perf_map_next(struct perf_map *map, const char *bytes, size_t len,
		     struct perf_map_line *line, bool *is);

#endif
