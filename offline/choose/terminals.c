// SPDX-License-Identifier: LGPL-2.1-or-later
/* terminals.c: bounded sets of terminals: an unsorted array while it is short, then one joined
 * terminal for each witness, in order. */
#include "offline/choose/terminals.h"

#include "offline/base/search.h"

#include <stdlib.h>
#include <string.h>

void terminal_set_free(struct terminal_set *set)
{
	free(set->terms);
	*set = (struct terminal_set){0};
}

/* All of a terminal's bytes are its fields'. */
static bool same_term(const struct terminal *a, const struct terminal *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* What joined terminals are ordered by, and what counts as one of them. */
static uint64_t key_of(struct terminal t, bool rets_apart)
{
	return (uint64_t)t.w << 32 | (rets_apart || t.w == TERMINAL_ANY_ENTRY ? t.ret : 0);
}

static uint32_t lower_bound(const struct terminal_set *set, uint64_t key)
{
	return SEARCH_FIRST_NOT(0, set->n, i, key_of(set->terms[i], set->rets_apart) < key);
}

/* Makes @into stand for @term as well; returns whether it changed, which it seldom does. */
static bool join(struct terminal *into, struct terminal term)
{
	bool known = into->depth != DEPTH_UNKNOWN && term.depth != DEPTH_UNKNOWN;
	int32_t least = term.depth < into->depth ? term.depth : into->depth;
	uint32_t ret = into->ret == term.ret ? term.ret : RET_UNKNOWN;
	bool or_below = known && (into->or_below || term.or_below || into->depth != term.depth);
	if (least == into->depth && ret == into->ret && or_below == into->or_below)
		return false;
	*into = terminal_of(into->w, least, ret, or_below);
	return true;
}

static bool grow(struct terminal_set *set)
{
	if (set->n < set->cap)
		return true;
	uint32_t cap = set->cap ? 2 * set->cap : 2;
	struct terminal *terms = realloc(set->terms, cap * sizeof(*terms));
	if (!terms)
		return false;
	set->terms = terms;
	set->cap = cap;
	return true;
}

static bool set_top(struct terminal_set *set)
{
	set->top = true;
	set->n = 0;
	return true;
}

static bool is_key_at(const struct terminal_set *set, uint32_t at, uint64_t key)
{
	return at < set->n && key_of(set->terms[at], set->rets_apart) == key;
}

static bool add_joined(struct terminal_set *set, struct terminal term)
{
	uint64_t key = key_of(term, set->rets_apart);
	uint32_t at = set->last + 1;
	if (!is_key_at(set, at, key))
		at = lower_bound(set, key);
	set->last = at;
	if (is_key_at(set, at, key))
		return join(&set->terms[at], term);
	if (set->n == TERMINAL_SET_MAX || !grow(set))
		return set_top(set);
	memmove(&set->terms[at + 1], &set->terms[at], (set->n - at) * sizeof(*set->terms));
	set->terms[at] = term;
	set->n++;
	return true;
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = key_of(*(const struct terminal *)a, true);
	uint64_t y = key_of(*(const struct terminal *)b, true);
	return x < y ? -1 : x > y;
}

static void become_joined(struct terminal_set *set)
{
	qsort(set->terms, set->n, sizeof(*set->terms), by_key);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < set->n; i++)
		if (kept && key_of(set->terms[kept - 1], set->rets_apart) ==
				    key_of(set->terms[i], set->rets_apart))
			join(&set->terms[kept - 1], set->terms[i]);
		else
			set->terms[kept++] = set->terms[i];
	set->n = kept;
	set->joined = true;
}

bool terminal_set_add(struct terminal_set *set, struct terminal term)
{
	if (set->top)
		return false;
	if (set->joined)
		return add_joined(set, term);
	for (uint32_t i = 0; i < set->n; i++)
		if (same_term(&set->terms[i], &term))
			return false;
	if (set->n == TERMINAL_SET_EXACT) {
		become_joined(set);
		add_joined(set, term);
		return true;
	}
	if (!grow(set))
		return set_top(set);
	set->terms[set->n++] = term;
	return true;
}

bool terminal_set_same(const struct terminal_set *a, const struct terminal_set *b)
{
	bool same = a->n == b->n && a->joined == b->joined && a->top == b->top;
	for (uint32_t i = 0; same && i < a->n; i++)
		same = same_term(&a->terms[i], &b->terms[i]);
	return same;
}

void terminal_set_range(const struct terminal_set *set, uint32_t w, uint32_t *from, uint32_t *to)
{
	*from = 0;
	*to = set->n;
	if (!set->joined)
		return;
	*from = lower_bound(set, (uint64_t)w << 32);
	*to = *from;
	while (*to < set->n && set->terms[*to].w == w)
		++*to;
}
