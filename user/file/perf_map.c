// SPDX-License-Identifier: LGPL-2.1-or-later
/* perf_map.c: see perf_map.h. */
#include "user/file/perf_map.h"

#include <string.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number and the blanks behind it, from *@at on. */
static bool take_hex(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	uint64_t value = 0;
	int digits = 0;
	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (; p < end && digit(*p) >= 0; p++, digits++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit(*p);
	}
	if (!digits || p == end || *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*at = p;
	*out = value;
	return true;
}

static bool parse(const char *at, const char *end, struct perf_map_line *line)
{
	while (end > at && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!take_hex(&at, end, &line->start) || !take_hex(&at, end, &line->size) || at == end ||
	    memchr(at, 0, (size_t)(end - at)))
		return false;
	if (!line->size || line->size > PERF_MAP_SIZE_MAX || line->start >= PERF_MAP_ADDR_MAX)
		return false;
	line->name = at;
	line->name_len = (size_t)(end - at);
	if (line->name_len > PERF_MAP_NAME_MAX) {
		line->name_len = PERF_MAP_NAME_MAX;
		/* Not in the midst of a character of UTF-8. */
		while (line->name_len && (at[line->name_len] & 0xc0) == 0x80)
			line->name_len--;
	}
	return line->name_len;
}

size_t perf_map_next(struct perf_map *map, const char *bytes, size_t len,
		     struct perf_map_line *line, bool *is)
{
	const char *stop = len ? memchr(bytes, '\n', len) : NULL;
	bool skips = map->skips;
	*is = false;
	if (!stop) {
		if (!skips && len < PERF_MAP_LINE_MAX)
			return 0;
		map->skips = true;
		return len;
	}
	map->skips = false;
	if (!skips && stop - bytes < PERF_MAP_LINE_MAX)
		*is = parse(bytes, stop, line);
	return (size_t)(stop - bytes) + 1;
}
