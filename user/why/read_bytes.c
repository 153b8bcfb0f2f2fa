// SPDX-License-Identifier: LGPL-2.1-or-later
/* read_bytes.c: which bytes of a descriptor a user means. */
#include "user/cli/numbers.h"
#include "user/why/why.h"

#include <limits.h>

bool why_read_bytes(const char *text, struct why_options *o)
{
	uint64_t fd, offset, len = 1;

	if (!number_begins(text, INT_MAX, &text, &fd) || *text != ':' ||
	    !number_begins(text + 1, UINT64_MAX, &text, &offset))
		return false;
	if (*text == ':' && !number_begins(text + 1, UINT64_MAX, &text, &len))
		return false;
	if (*text || !len || len >= UINT64_MAX - offset) /* the end can be told */
		return false;
	o->fd = (int)fd;
	o->offset = offset;
	o->len = len;
	return true;
}
