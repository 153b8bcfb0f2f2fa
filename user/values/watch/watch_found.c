// SPDX-License-Identifier: LGPL-2.1-or-later
/* watch_found.c: see watch_found.h. */
#include "user/values/watch/watch_found.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	struct watch_access a = {
		.place = *place, .count = count, .ip = ip, .number = f->total, .write = write};
	snprintf(a.by, sizeof(a.by), "%s", by);
	if (!VEC_PUSH(&f->seen, a))
		f->err = -ENOMEM;
}

static bool is_place(const struct watch_place *a, const struct watch_place *b)
{
	return a->addr == b->addr && a->local == b->local && a->call == b->call && a->reg == b->reg;
}

void watch_found_keep(struct watch_found *f, const struct watch_place *place, uint64_t count,
		      const uint8_t *bytes)
{
	const uint64_t len = 2 * watch_found_length(f, place);

	for (uint32_t i = f->seen.n; i && f->seen.at[i - 1].count == count; i--) {
		struct watch_access *a = &f->seen.at[i - 1];

		if (!*a->by || a->bytes || !is_place(&a->place, place))
			continue;
		a->bytes = malloc(len);
		if (a->bytes)
			memcpy(a->bytes, bytes, len);
		else
			f->err = -ENOMEM;
		return;
	}
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
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	return x->number < y->number ? -1 : x->number > y->number;
}

void watch_found_sort(struct watch_found *f)
{
	if (f->seen.n)
		qsort(f->seen.at, f->seen.n, sizeof(*f->seen.at), by_count);
}

void watch_found_deinit(struct watch_found *f)
{
	for (uint32_t i = 0; i < f->seen.n; i++)
		free(f->seen.at[i].bytes);
	VEC_FREE(&f->seen);
}
