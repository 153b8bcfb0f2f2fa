// SPDX-License-Identifier: LGPL-2.1-or-later
/* numbers.c: see numbers.h. */
#include "user/cli/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool number_begins(const char *text, uint64_t most, const char **end, uint64_t *out)
{
	bool hex = !strncmp(text, "0x", 2) && isxdigit((unsigned char)text[2]);
	char *stop;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	uint64_t n = strtoull(text, &stop, hex ? 16 : 10);
	if (errno || n > most)
		return false;
	*end = stop;
	*out = n;
	return true;
}

bool number_is(const char *text, uint64_t most, uint64_t *out)
{
	const char *end;
	uint64_t n;

	if (!number_begins(text, most, &end, &n) || *end || !n)
		return false;
	*out = n;
	return true;
}
