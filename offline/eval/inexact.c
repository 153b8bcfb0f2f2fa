// SPDX-License-Identifier: LGPL-2.1-or-later
/* inexact.c: see inexact.h. */
#include "offline/eval/inexact.h"

#include <stdlib.h>
#include <string.h>

static bool same(const struct value_inexact *a, const struct value_inexact *b)
{
	return a->ip == b->ip && a->quality == b->quality && a->reason == b->reason &&
	       a->reg == b->reg;
}

static struct value_inexact *find(struct value_inexact *at, size_t room,
				  const struct value_inexact *one)
{
	uint64_t hash = (one->ip ^ (uint64_t)one->reason << 56 ^ (uint64_t)one->reg << 48) *
			0x9e3779b97f4a7c15;
	for (size_t i = (hash >> 20) & (room - 1);; i = (i + 1) & (room - 1))
		if (!at[i].ip || same(&at[i], one))
			return &at[i];
}

static bool make_room(struct value_inexacts *t)
{
	if (2 * (t->n + 1) <= t->room)
		return true;
	size_t room = t->room ? 2 * t->room : 64;
	struct value_inexact *at = calloc(room, sizeof(*at));
	if (!at)
		return false;
	for (size_t i = 0; i < t->room; i++)
		if (t->at[i].ip)
			*find(at, room, &t->at[i]) = t->at[i];
	free(t->at);
	t->at = at;
	t->room = room;
	return true;
}

void value_inexacts_add(struct value_inexacts *t, const struct value_inexact *one)
{
	if (!make_room(t))
		return;
	struct value_inexact *e = find(t->at, t->room, one);
	if (!e->ip) {
		*e = *one;
		e->n = 0;
		t->n++;
	}
	e->n++;
}

static bool before(const struct value_inexact *a, const struct value_inexact *b)
{
	return a->n != b->n ? a->n > b->n : a->ip < b->ip;
}

size_t value_inexacts_most(const struct value_inexacts *t, uint8_t quality,
			   struct value_inexact *out, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < t->room; i++) {
		const struct value_inexact *e = &t->at[i];
		size_t to = n;
		if (!e->ip || e->quality != quality || e->reason == VALUE_OF_COMPUTED)
			continue;
		while (to && before(e, &out[to - 1]))
			to--;
		if (to == max)
			continue;
		n += n < max;
		memmove(&out[to + 1], &out[to], (n - to - 1) * sizeof(*out));
		out[to] = *e;
	}
	return n;
}

void value_inexacts_free(struct value_inexacts *t)
{
	free(t->at);
	*t = (struct value_inexacts){0};
}
