// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_dies.c: see value_dies.h. DIEs of a unit lie in the file in the order of a walk that goes
 * into children first. */
#include "user/values/show/value_dies.h"

enum { NESTING_MAX = 1024 };

bool value_die_next(Dwarf_Die *die)
{
	const void *was = die->addr;
	return !dwarf_siblingof(die, die) && die->addr > was;
}

static bool comes_to(struct value_dies *walk, const Dwarf_Die *die)
{
	if (walk->last && die->addr <= walk->last)
		return false;
	walk->last = die->addr;
	return true;
}

bool value_dies_down(struct value_dies *walk, Dwarf_Die *parent, Dwarf_Die *child)
{
	if (walk->nesting == NESTING_MAX || dwarf_child(parent, child) || !comes_to(walk, child))
		return false;
	walk->nesting++;
	return true;
}

void value_dies_up(struct value_dies *walk)
{
	walk->nesting--;
}

bool value_dies_next(struct value_dies *walk, Dwarf_Die *die)
{
	return !dwarf_siblingof(die, die) && comes_to(walk, die);
}
