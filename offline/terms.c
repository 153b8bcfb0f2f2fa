// SPDX-License-Identifier: LGPL-2.1-or-later
/* terms.c: bounded sets of terms, kept as unordered arrays: they are small by construction. */
#include "offline/terms.h"

#include <stdlib.h>

void termset_clear(struct termset *set)
{
	set->n = 0;
	set->top = false;
}

void termset_free(struct termset *set)
{
	free(set->terms);
	*set = (struct termset){0};
}

static bool contains(const struct termset *set, struct term term)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const struct term *t = &set->terms[i];
		if (t->w == term.w && t->depth == term.depth && t->ret == term.ret)
			return true;
	}
	return false;
}

bool termset_add(struct termset *set, struct term term)
{
	if (set->top || contains(set, term))
		return false;
	if (set->n == TERMSET_MAX) {
		set->top = true;
		return true;
	}
	if (set->n == set->cap) {
		uint32_t cap = set->cap ? 2 * set->cap : 4;
		struct term *terms = realloc(set->terms, cap * sizeof(*terms));
		if (!terms) {
			set->top = true;
			return true;
		}
		set->terms = terms;
		set->cap = cap;
	}
	set->terms[set->n++] = term;
	return true;
}

bool termset_within(const struct termset *part, const struct termset *whole)
{
	if (whole->top)
		return true;
	if (part->top)
		return false;
	for (uint32_t i = 0; i < part->n; i++)
		if (!contains(whole, part->terms[i]))
			return false;
	return true;
}
