// SPDX-License-Identifier: LGPL-2.1-or-later
/* single.c: see single.h. */
#include "user/request/single.h"

#include <errno.h>
#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int slowest_first(const void *a, const void *b)
{
	const struct request *x = ((const struct request_single *)a)->request;
	const struct request *y = ((const struct request_single *)b)->request;
	int by = compare(y->took.min_ns, x->took.min_ns);
	if (!by)
		by = compare(y->took.max_ns, x->took.max_ns);
	return by ? by : compare(x->from_ns, y->from_ns);
}

/* Puts @one into the first @n of a list that is kept in order, of at most @most. */
static uint32_t keep(struct request_single *list, uint32_t n, uint32_t most,
		     struct request_single one)
{
	if (n == most && slowest_first(&list[n - 1], &one) <= 0)
		return n;
	uint32_t at = n == most ? n - 1 : n++;
	for (; at && slowest_first(&list[at - 1], &one) > 0; at--)
		list[at] = list[at - 1];
	list[at] = one;
	return n;
}

int64_t request_slowest(const struct requests *r, uint32_t most, struct request_single **out)
{
	struct request_single *list = malloc((most + 1ul) * sizeof(*list));
	uint32_t n = 0;
	if (!list)
		return -ENOMEM;
	for (uint32_t t = 0; t < r->n_tasks && most; t++)
		for (uint64_t i = 0; i < r->tasks[t].n; i++)
			if (r->tasks[t].at[i].class != REQUEST_PART)
				n = keep(list, n, most,
					 (struct request_single){&r->tasks[t].at[i], t});
	*out = list;
	return n;
}

static int by_identity(const void *a, const void *b)
{
	const struct request_identity *x = a, *y = b;
	return compare(x->identity, y->identity);
}

static int most_slow_first(const void *a, const void *b)
{
	const struct request_identity *x = a, *y = b;
	int by = compare(y->n_of[REQUEST_SLOW], x->n_of[REQUEST_SLOW]);
	if (!by)
		by = compare(x->n_of[REQUEST_FAST], y->n_of[REQUEST_FAST]);
	return by ? by : compare(x->identity, y->identity);
}

int64_t request_identities(const struct requests *r, struct request_identity **out)
{
	struct request_identity *list = calloc(r->identified + 1, sizeof(*list));
	uint64_t n = 0, kept = 0;
	if (!list)
		return -ENOMEM;
	for (uint32_t t = 0; t < r->n_tasks; t++)
		for (uint64_t i = 0; i < r->tasks[t].n; i++) {
			const struct request *one = &r->tasks[t].at[i];
			if (!one->identified)
				continue;
			list[n].identity = one->identity;
			list[n++].n_of[one->class] = 1;
		}
	qsort(list, n, sizeof(*list), by_identity);
	for (uint64_t i = 0; i < n; i++) {
		if (!kept || list[kept - 1].identity != list[i].identity) {
			list[kept++] = list[i];
			continue;
		}
		for (int c = 0; c <= REQUEST_PART; c++)
			list[kept - 1].n_of[c] += list[i].n_of[c];
	}
	qsort(list, kept, sizeof(*list), most_slow_first);
	*out = list;
	return (int64_t)kept;
}
