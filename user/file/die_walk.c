// SPDX-License-Identifier: LGPL-2.1-or-later
/* die_walk.c: see die_walk.h. DIEs of a unit lie in the file in the order of a walk that goes
 * into children first. */
#include "user/file/die_walk.h"

enum { NESTING_MAX = 1024 };

bool die_next(Dwarf_Die *die)
{
	const void *was = die->addr;
	return !dwarf_siblingof(die, die) && die->addr > was;
}

static bool comes_to(struct die_walk *walk, const Dwarf_Die *die)
{
	if (walk->last && die->addr <= walk->last)
		return false;
	walk->last = die->addr;
	return true;
}

bool die_walk_down(struct die_walk *walk, Dwarf_Die *parent, Dwarf_Die *child)
{
	if (walk->nesting == NESTING_MAX || dwarf_child(parent, child) || !comes_to(walk, child))
		return false;
	walk->nesting++;
	return true;
}

void die_walk_up(struct die_walk *walk)
{
	walk->nesting--;
}

bool die_walk_next(struct die_walk *walk, Dwarf_Die *die)
{
	return !dwarf_siblingof(die, die) && comes_to(walk, die);
}
