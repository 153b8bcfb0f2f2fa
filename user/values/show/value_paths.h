/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_paths.h: a part of a variable: "p->x", "s.list[3]", "*p". */
#ifndef USER_VALUE_PATHS_H
#define USER_VALUE_PATHS_H

#include "user/values/show/value_scalars.h"

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

#endif
