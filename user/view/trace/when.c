// SPDX-License-Identifier: LGPL-2.1-or-later
/* when.c: see when.h. */
#include "user/view/trace/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS 1000000000l
#define DAY_NS (86400 * NS)

bool when_parse_duration(const char *text, uint64_t *out_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char *end;
	double value = strtod(text, &end);
	if (end == text || !(value >= 0))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name) && value * units[i].ns < 1e18) {
			*out_ns = (uint64_t)(value * units[i].ns);
			return true;
		}
	return false;
}

/* "HH:MM[:SS[.FRACTION]]" to ns after midnight. */
static bool parse_time_of_day(const char *text, uint64_t *out_ns)
{
	unsigned hour, minute;
	int n = 0;
	double second = 0;
	if (sscanf(text, "%2u:%2u%n", &hour, &minute, &n) != 2 || hour > 23 || minute > 59)
		return false;
	text += n;
	if (*text == ':') {
		char *end;
		if (strspn(text + 1, "0123456789.") != strlen(text + 1))
			return false;
		second = strtod(text + 1, &end);
		if (end == text + 1 || *end || !(second < 61))
			return false;
		text = end;
	}
	if (*text)
		return false;
	*out_ns = (uint64_t)(hour * 3600 + minute * 60) * NS + (uint64_t)(second * 1e9);
	return true;
}

bool when_parse(const char *text, struct when *out)
{
	struct when when = {.kind = WHEN_AFTER_START};
	int n = 0;
	if (when_parse_duration(text, &when.ns)) {
		*out = when;
		return true;
	}
	when.kind = WHEN_TIME_OF_DAY;
	if (sscanf(text, "%4d-%2d-%2d%n", &when.year, &when.month, &when.day, &n) == 3 &&
	    (text[n] == 'T' || text[n] == ' ')) {
		if (when.month < 1 || when.month > 12 || when.day < 1 || when.day > 31)
			return false;
		when.kind = WHEN_DATE;
		text += n + 1;
	}
	if (!parse_time_of_day(text, &when.ns))
		return false;
	*out = when;
	return true;
}

/* CLOCK_REALTIME of a time of day in local time, @days after the day of @tm. */
static int64_t real_of(struct tm tm, int days, uint64_t ns)
{
	tm.tm_mday += days;
	tm.tm_hour = (int)(ns / (3600 * NS));
	tm.tm_min = (int)(ns / (60 * NS) % 60);
	tm.tm_sec = (int)(ns / NS % 60);
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm) * NS + (int64_t)(ns % NS);
}

uint64_t when_resolve(const struct when *when, uint64_t start_ns, uint64_t start_real_ns,
		      uint64_t last_ns)
{
	if (when->kind == WHEN_AFTER_START)
		return start_ns + when->ns;
	struct tm tm = {
		.tm_year = when->year - 1900, .tm_mon = when->month - 1, .tm_mday = when->day};
	time_t start = (time_t)(start_real_ns / NS);
	if (when->kind == WHEN_TIME_OF_DAY)
		localtime_r(&start, &tm);
	int64_t after = real_of(tm, 0, when->ns) - (int64_t)start_real_ns;
	if (when->kind == WHEN_TIME_OF_DAY && after < 0) {
		int64_t next = real_of(tm, 1, when->ns) - (int64_t)start_real_ns;
		if (next <= (int64_t)(last_ns - start_ns))
			after = next;
	}
	return after < 0 && (uint64_t)-after > start_ns ? 0 : start_ns + (uint64_t)after;
}
