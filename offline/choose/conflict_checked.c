// SPDX-License-Identifier: LGPL-2.1-or-later
/* conflict_checked.c: which functions are known to hold: they were checked, and nothing that they
 * depend on has changed since. What the check noted of return addresses is kept as well, so that
 * the last look at a whole program need not walk through those functions once more. */
#include "offline/choose/conflict_impl.h"

#include <stdlib.h>

/* A function whose check needs more return addresses than that is checked anew. */
#define RETS_MAX 4096

/* What the last check of a function needed: conflicts.checked_rets[at .. at + n). */
struct checked {
	uint32_t at, n;
	bool holds;
};

int conflict_checked_init(struct conflicts *ch)
{
	ch->checked = calloc(ch->prog->n_funcs + 1, sizeof(*ch->checked));
	return ch->checked ? 0 : -1;
}

bool conflict_check(struct conflicts *ch, uint32_t func)
{
	struct checked *c = &ch->checked[func];
	c->at = ch->checking_from = ch->checked_rets.n;
	ch->keeps_rets = true;
	bool holds = conflict_function_holds(ch, func);
	ch->keeps_rets = false;
	c->n = ch->checked_rets.n - c->at;
	c->holds = holds && c->n < RETS_MAX;
	if (!c->holds)
		ch->checked_rets.n = c->at;
	return holds;
}

void conflict_uncheck(struct conflicts *ch, uint32_t func)
{
	ch->checked[func].holds = false;
}

bool conflict_known_to_hold(const struct conflicts *ch, uint32_t func)
{
	return ch->checked[func].holds;
}

void conflict_note_checked(struct conflicts *ch, uint32_t func)
{
	const struct checked *c = &ch->checked[func];
	for (uint32_t i = 0; i < c->n; i++)
		ch->capture_ret[ch->checked_rets.at[c->at + i]] = true;
}
