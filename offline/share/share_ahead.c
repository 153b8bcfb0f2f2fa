// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_ahead.c: see share_ahead.h. A ring of events, those of one function linked by number. */
#include "offline/share/share_ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int share_ahead_init(struct share_ahead *a, const struct share_teller *t, const struct share_io *io,
		     uint32_t part)
{
	uint32_t n = t->plan->n_funcs + 1;
	*a = (struct share_ahead){.t = t, .io = io, .part = part, .cap = 64};
	a->ring = malloc(a->cap * sizeof(*a->ring));
	a->first = malloc(2 * (size_t)n * sizeof(*a->first));
	if (!a->ring || !a->first) {
		share_ahead_deinit(a);
		return -ENOMEM;
	}
	a->last = a->first + n;
	memset(a->first, 0xff, 2 * (size_t)n * sizeof(*a->first));
	return 0;
}

void share_ahead_deinit(struct share_ahead *a)
{
	for (uint64_t i = a->begin; i < a->end; i++)
		free(a->ring[i & (a->cap - 1)].stack_copy);
	free(a->ring);
	free(a->first);
	*a = (struct share_ahead){0};
}

static int grow(struct share_ahead *a)
{
	struct ahead_event *ring = malloc(2 * (size_t)a->cap * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (uint64_t i = a->begin; i < a->end; i++)
		ring[i & (2 * a->cap - 1)] = a->ring[i & (a->cap - 1)];
	free(a->ring);
	a->ring = ring;
	a->cap *= 2;
	return 0;
}

/* Reads one more. 1, 0, or -errno. */
static int read_one(struct share_ahead *a)
{
	const struct pugmark_witness_event *e;
	if (a->ended)
		return 0;
	int got = a->io->next(a->io->ctx, a->part, &e);
	a->ended = got == 0;
	if (got != 1)
		return got;
	if (e->kind == PUGMARK_EVENT_WITNESS && e->site >= a->t->plan->n_sites)
		return -EBADMSG;
	if (a->end - a->begin == a->cap && grow(a))
		return -ENOMEM;
	struct ahead_event *n = &a->ring[a->end & (a->cap - 1)];
	n->e = *e;
	n->next = AHEAD_NONE;
	n->special = e->kind != PUGMARK_EVENT_WITNESS || a->t->is_root[e->site];
	n->stack_copy = NULL;
	if (e->stack && e->stack_words) {
		n->stack_copy = malloc(e->stack_words * sizeof(*n->stack_copy));
		if (!n->stack_copy)
			return -ENOMEM;
		memcpy(n->stack_copy, e->stack, e->stack_words * sizeof(*n->stack_copy));
		n->e.stack = n->stack_copy;
	}
	if (e->kind == PUGMARK_EVENT_WITNESS) {
		uint32_t f = a->t->site_func[e->site];
		if (a->first[f] == AHEAD_NONE)
			a->first[f] = a->end;
		else
			a->ring[a->last[f] & (a->cap - 1)].next = a->end;
		a->last[f] = a->end;
	}
	a->end++;
	if (a->end - a->begin > a->most)
		a->most = a->end - a->begin;
	return 1;
}

int share_ahead_front(struct share_ahead *a, struct ahead_event **out)
{
	if (a->begin == a->end) {
		int got = read_one(a);
		if (got != 1)
			return got;
	}
	*out = &a->ring[a->begin & (a->cap - 1)];
	return 1;
}

int share_ahead_of(struct share_ahead *a, uint32_t func, struct ahead_event **out)
{
	while (a->first[func] == AHEAD_NONE) {
		int got = read_one(a);
		if (got != 1)
			return got;
	}
	*out = &a->ring[a->first[func] & (a->cap - 1)];
	return 1;
}

void share_ahead_pop(struct share_ahead *a)
{
	struct ahead_event *e = &a->ring[a->begin++ & (a->cap - 1)];
	if (e->e.kind == PUGMARK_EVENT_WITNESS)
		a->first[a->t->site_func[e->e.site]] = e->next;
	free(e->stack_copy);
}
