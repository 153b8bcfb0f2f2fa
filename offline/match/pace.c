// SPDX-License-Identifier: LGPL-2.1-or-later
/* pace.c: see pace.h. The second run is cut into parts. In each, what is sure to match has been
 * executed in the first run at some time in the middle; a few such instructions that only seem to
 * match move the middle little. */
#include "offline/match/pace.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 512, FEW = 3, TAIL = 10, PAIRS_MOST = 1 << 24 };

static int by_b(const void *x, const void *y)
{
	const struct match_pair *p = x, *q = y;
	return p->b < q->b ? -1 : p->b > q->b;
}

static int by_a(const void *x, const void *y)
{
	const struct match_pair *p = x, *q = y;
	return p->a < q->a ? -1 : p->a > q->a;
}

/* When both did the same, at most about PAIRS_MOST times, in the order of @b's time. Returns how
 * many, or -ENOMEM. */
static int64_t find_pairs(const struct match_side *a, const struct match_side *b,
			  const struct match_found *found, const uint32_t *steps,
			  struct match_pair **out)
{
	uint64_t n = 0, total = 0;
	for (uint32_t i = 0; i < b->n; i++)
		total += steps[i];
	uint32_t stride = (uint32_t)(total / PAIRS_MOST + 1);
	struct match_pair *pairs = *out = malloc((total / stride + b->n + 1) * sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n; i++)
		for (uint64_t k = 0; k < steps[i]; k += stride) {
			struct match_pair p = {a->insns[found[i].partner].when[k],
					       b->insns[i].when[k]};
			if (p.a != UINT32_MAX && p.b != UINT32_MAX)
				pairs[n++] = p;
		}
	qsort(pairs, n, sizeof(*pairs), by_b);
	return (int64_t)n;
}

/* Where most of a part's pairs are; nothing where there are few. */
static struct match_window part_of(const struct match_pair *pairs, uint64_t n,
				   struct match_pair *sorted)
{
	if (n < FEW)
		return (struct match_window){UINT32_MAX, 0};
	memcpy(sorted, pairs, n * sizeof(*pairs));
	qsort(sorted, n, sizeof(*sorted), by_a);
	return (struct match_window){sorted[n / TAIL].a, sorted[n - 1 - n / TAIL].a};
}

static void take_in(struct match_window *w, struct match_window part)
{
	w->least = part.least < w->least ? part.least : w->least;
	w->most = part.most > w->most ? part.most : w->most;
}

/* A window has where a part's pairs are, and those of the parts next to it on both sides that have
 * pairs. */
static void widen(struct match_pace *pace, const struct match_window *parts)
{
	struct match_window last = {0, 0};
	for (uint32_t i = 0; i < pace->n; i++) {
		pace->at[i] = parts[i];
		take_in(&pace->at[i], last);
		last = parts[i].least <= parts[i].most ? parts[i] : last;
	}
	last = (struct match_window){UINT32_MAX, UINT32_MAX};
	for (uint32_t i = pace->n; i-- > 0;) {
		take_in(&pace->at[i], last);
		last = parts[i].least <= parts[i].most ? parts[i] : last;
	}
}

int match_pace_init(struct match_pace *pace, const struct match_side *a, const struct match_side *b,
		    const struct match_found *found, const uint32_t *steps)
{
	*pace = (struct match_pace){0};
	int64_t n = find_pairs(a, b, found, steps, &pace->pairs);
	if (n < 0)
		return -ENOMEM;
	pace->n_pairs = (uint64_t)n;
	struct match_window *parts = calloc(PARTS, sizeof(*parts));
	struct match_pair *sorted = malloc(((uint64_t)n + 1) * sizeof(*sorted));
	pace->at = calloc(PARTS, sizeof(*pace->at));
	if (n >= FEW * PARTS && parts && sorted && pace->at) {
		pace->width = pace->pairs[n - 1].b / PARTS + 1;
		pace->n = PARTS;
		for (uint64_t i = 0, end, part = 0; part < PARTS; part++, i = end) {
			for (end = i;
			     end < pace->n_pairs && pace->pairs[end].b / pace->width == part;)
				end++;
			parts[part] = part_of(pace->pairs + i, end - i, sorted);
		}
		widen(pace, parts);
	}
	int err = parts && sorted && pace->at ? 0 : -ENOMEM;
	free(sorted);
	free(parts);
	return err;
}

/* The middle one of FEW pairs, for some of what is sure is wrong. */
static struct match_pair middle_of(const struct match_pair *pairs)
{
	struct match_pair some[FEW];
	memcpy(some, pairs, sizeof(some));
	qsort(some, FEW, sizeof(*some), by_a);
	return some[FEW / 2];
}

uint32_t match_pace_distance(const struct match_pace *pace, uint32_t a, uint32_t b)
{
	uint64_t n = pace->n_pairs;
	uint64_t i = SEARCH_FIRST_NOT((uint64_t)0, n, k, pace->pairs[k].b < b);
	if (!pace->n || i < FEW || i > n - FEW)
		return 0;
	struct match_pair p = middle_of(pace->pairs + i - FEW), q = middle_of(pace->pairs + i);
	uint64_t near = p.a;
	if (b > p.b && q.b > p.b && q.a > p.a)
		near += (uint64_t)(b - p.b) * (q.a - p.a) / (q.b - p.b);
	return (uint32_t)(near > a ? near - a : a - near);
}

void match_pace_deinit(struct match_pace *pace)
{
	free(pace->at);
	free(pace->pairs);
	*pace = (struct match_pace){0};
}
