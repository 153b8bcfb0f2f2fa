/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose_forced.h: the marks that no mode can do without. Private to the choice. */
#ifndef OFFLINE_CHOOSE_FORCED_H
#define OFFLINE_CHOOSE_FORCED_H

#include "offline/choose/conflict.h"

/* Sets the marks of @func that no mode can do without, and those of ch->given. */
void force_function(struct conflicts *ch, uint32_t func);

/* The least that the mark costs in a run that @func cannot do without where it begins, in ns. */
double forced_entry_cost(const struct conflicts *ch, uint32_t func);

/* What is missing where such a mark is not on @block, or does not tell which frame it is in: enum
 * pugmark_plan_unresolved_kind; or -1: nothing. */
int forced_missing(const struct conflicts *ch, uint32_t block);

/* Whether there are so many ways to where many lead that @func is chosen for with marks there
 * (ch->hubs): without them it would take too much, and they cost less than marking it all over. */
bool forced_hubs_prevail(const struct conflicts *ch, uint32_t func);

#endif
