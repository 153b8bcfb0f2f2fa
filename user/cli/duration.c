// SPDX-License-Identifier: LGPL-2.1-or-later
/* duration.c: see duration.h. Without snprintf(): `replay` writes millions of durations. */
#include "user/cli/duration.h"

#include <string.h>

static char *put_digits(char *at, uint64_t value)
{
	char digits[20], *first = digits + sizeof(digits);
	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	size_t len = digits + sizeof(digits) - first;
	memcpy(at, first, len);
	return at + len;
}

/* The first @places of the three digits of @thousandths. */
static char *put_fraction(char *at, unsigned thousandths, unsigned places)
{
	*at++ = '.';
	for (unsigned unit = 100; places; places--, unit /= 10)
		*at++ = (char)('0' + thousandths / unit % 10);
	return at;
}

unsigned duration_text(char out[DURATION_TEXT], uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
	unsigned u = 0;
	while (u < 3 && ns < units[u].ns)
		u++;
	/* Cut and not rounded: "9.999ms" never becomes "10.00ms". */
	uint64_t whole = ns / units[u].ns, rest = ns % units[u].ns;
	unsigned places = u == 3 ? 0 : whole < 10 ? 3 : whole < 100 ? 2 : whole < 1000 ? 1 : 0;
	char *at = put_digits(out, whole);
	if (places)
		at = put_fraction(at, (unsigned)(rest * 1000 / units[u].ns), places);
	strcpy(at, units[u].name);
	return (unsigned)(at - out + strlen(units[u].name));
}

unsigned time_bounds_text(char out[TIME_BOUNDS_TEXT], struct time_bounds t)
{
	char *at = out;
	if (!t.min_ns && t.max_ns) {
		*at++ = '<';
	} else if (t.min_ns != t.max_ns) {
		at += duration_text(at, t.min_ns);
		*at++ = '.';
		*at++ = '.';
	}
	return (unsigned)(at - out) + duration_text(at, t.max_ns);
}
