/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_dies.h: from one DIE to the next, in a file that may be damaged: siblings that lead round,
 * or back into what was looked at, end the walk, and so does nesting without an end. */
#ifndef USER_VALUE_DIES_H
#define USER_VALUE_DIES_H

#include <elfutils/libdw.h>

#include <stdbool.h>

/* Goes on to the next sibling. False: there is none, or it does not lie behind @die in the file. */
bool value_die_next(Dwarf_Die *die);

/* A walk that goes into children: each DIE lies behind all that it has come to before. */
struct value_dies {
	const void *last;
	unsigned nesting;
};

/* The first child of @parent, in @child; value_dies_up() goes back. False: there is none, and there
 * is no need to. */
bool value_dies_down(struct value_dies *walk, Dwarf_Die *parent, Dwarf_Die *child);
void value_dies_up(struct value_dies *walk);
/* Goes on to the next sibling. False: there is none. */
bool value_dies_next(struct value_dies *walk, Dwarf_Die *die);

#endif
