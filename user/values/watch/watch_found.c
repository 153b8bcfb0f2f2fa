// SPDX-License-Identifier: LGPL-2.1-or-later
/* watch_found.c: see watch_found.h. */
#include "user/values/watch/watch_found.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t watch_found_length(const struct watch_found *f, const struct watch_place *p)
{
	return p->call ? f->what->locals.at[p->local].len : f->what->len;
}

void watch_found_note(struct watch_found *f, const struct watch_place *place, uint64_t count,
		      uint64_t ip, bool write, const char *by)
{
	if (f->writes_alone && !write)
		return;
	f->total++;
	if (f->seen.n == f->limit || f->err)
		return;
	struct watch_access a = {.place = *place, .count = count, .ip = ip, .write = write};
	snprintf(a.by, sizeof(a.by), "%s", by);
	if (!VEC_PUSH(&f->seen, a))
		f->err = -ENOMEM;
}

/* What has come before instruction @count from outside, what that reads, what it writes. */
static int rank(const struct watch_access *a)
{
	return *a->by ? 0 : 1 + a->write;
}

static int by_count(const void *a, const void *b)
{
	const struct watch_access *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return rank(x) - rank(y);
}

void watch_found_sort(struct watch_found *f)
{
	if (f->seen.n)
		qsort(f->seen.at, f->seen.n, sizeof(*f->seen.at), by_count);
}

void watch_found_deinit(struct watch_found *f)
{
	VEC_FREE(&f->seen);
}
