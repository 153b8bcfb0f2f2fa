/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* die_walk.h: from one DIE to the next, in a file that may be damaged: siblings that lead round,
 * or back into what was looked at, end the walk, and so does nesting without an end. */
#ifndef USER_DIE_WALK_H
#define USER_DIE_WALK_H

#include <elfutils/libdw.h>

#include <stdbool.h>

/* Goes on to the next sibling. False: there is none, or it does not lie behind @die in the file. */
bool die_next(Dwarf_Die *die);

/* A walk that goes into children: each DIE lies behind all that it has come to before. */
struct die_walk {
	const void *last;
	unsigned nesting;
};

/* The first child of @parent, in @child; die_walk_up() goes back. False: there is none, and there
 * is no need to. */
bool die_walk_down(struct die_walk *walk, Dwarf_Die *parent, Dwarf_Die *child);
void die_walk_up(struct die_walk *walk);
/* Goes on to the next sibling. False: there is none. */
bool die_walk_next(struct die_walk *walk, Dwarf_Die *die);

#endif
