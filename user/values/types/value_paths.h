/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_paths.h: a part of a variable: "p->x", "s.list[3]", "*p". */
#ifndef USER_VALUE_PATHS_H
#define USER_VALUE_PATHS_H

#include "user/values/types/value_scalars.h"

struct value_part {
	Dwarf_Die type; /* plain */
	struct value_bytes value;
	uint64_t off; /* into it */
	struct value_bits bits;
};

/* The name that @path begins with, behind its stars; its length in *@len. NULL: there is none. */
const char *value_path_name(const char *path, size_t *len);
/* @part is the variable of @path's name; becomes what @path says of it. False: there is no such
 * member, or an address on the way is not known. */
bool value_path_follow(struct value_part *part, const char *path, struct value_memory *memory);

/* Why a path leads nowhere. */
struct value_path_why {
	char text[240];
};
/* A path, step by step, for who reads pointers himself. */
struct value_walk {
	const char *at; /* what is left of it */
	size_t stars;	/* and of those before its name */
};
enum value_walked {
	VALUE_WALK_END,	    /* all of it */
	VALUE_WALK_POINTER, /* up to a pointer or reference: what that points to is next */
	VALUE_WALK_NO,	    /* there is no such member or element, or it is no path */
};
void value_walk_begin(struct value_walk *walk, const char *path);
/* Goes on in @part, first the variable of the path's name, whose value may not be known. POINTER:
 * @part is the pointer; @to, the next part, is without its value. NO: @why (NULL: nobody asks). */
enum value_walked value_walk_on(struct value_walk *walk, struct value_part *part,
				struct value_part *to, struct value_path_why *why);

#endif
