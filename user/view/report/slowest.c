// SPDX-License-Identifier: LGPL-2.1-or-later
/* slowest.c: see slowest.h. A binary heap; its first element is the next to be dropped. */
#include "user/view/report/slowest.h"

#include <errno.h>
#include <stdlib.h>

int slowest_init(struct slowest *s, uint32_t most)
{
	*s = (struct slowest){.at = calloc(most + 1ul, sizeof(*s->at)), .most = most};
	return s->at ? 0 : -ENOMEM;
}

/* Of two equally slow calls the one that began first counts as slower: so the result does not
 * depend on the order in which they come. */
static bool is_slower(const struct report_slow *a, const struct report_slow *b)
{
	if (a->took.min_ns != b->took.min_ns)
		return a->took.min_ns > b->took.min_ns;
	if (a->took.max_ns != b->took.max_ns)
		return a->took.max_ns > b->took.max_ns;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns;
	return a->task != b->task ? a->task < b->task : a->id < b->id;
}

/* Puts @call in the first one's place. */
static void replace_first(struct slowest *s, const struct report_slow *call)
{
	uint32_t at = 0;
	for (uint32_t child; (child = 2 * at + 1) < s->n; at = child) {
		if (child + 1 < s->n && is_slower(&s->at[child], &s->at[child + 1]))
			child++;
		if (!is_slower(call, &s->at[child]))
			break;
		s->at[at] = s->at[child];
	}
	s->at[at] = *call;
}

void slowest_keep(struct slowest *s, const struct report_slow *call)
{
	if (s->n == s->most) {
		if (s->n && is_slower(call, &s->at[0]))
			replace_first(s, call);
		return;
	}
	uint32_t at = s->n++;
	for (; at && is_slower(&s->at[(at - 1) / 2], call); at = (at - 1) / 2)
		s->at[at] = s->at[(at - 1) / 2];
	s->at[at] = *call;
}

void slowest_merge(struct slowest *s, const struct slowest *from)
{
	for (uint32_t i = 0; i < from->n; i++)
		slowest_keep(s, &from->at[i]);
}

static int by_slowness(const void *a, const void *b)
{
	return is_slower(a, b) ? -1 : is_slower(b, a);
}

void slowest_sort(struct slowest *s)
{
	if (s->n)
		qsort(s->at, s->n, sizeof(*s->at), by_slowness);
}
