/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_statics.h: variables that are at one place as long as the program runs: global ones, those
 * that are static in a function or a class, and thread-local ones, which are so for each thread. */
#ifndef USER_VALUE_STATICS_H
#define USER_VALUE_STATICS_H

#include "user/values/vars/value_vars.h"

struct value_static {
	Dwarf_Die die;
	bool thread;   /* @at counts from the beginning of the module's thread-local block */
	uint64_t at;   /* else the ELF address */
	uint64_t size; /* bytes; 0: not known */
};

/* Where the variable @die is; false: it is no such one. */
bool value_static_of(Dwarf_Die *die, struct value_static *out);
/* The one of the module that is called @name (demangle_means(), or by its name and namespaces from
 * some :: on) and declared outside of functions. */
bool value_static_find(struct value_vars *vars, const char *name, struct value_static *out);

#endif
