/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_locals.h: a variable of a function, by instruction: where DWARF says that it is in a frame
 * whose canonical frame address (CFA) is known, without a state of the program. */
#ifndef USER_VALUE_LOCALS_H
#define USER_VALUE_LOCALS_H

#include "offline/base/vec.h"
#include "user/values/types/value_paths.h"
#include "user/values/vars/value_statics.h"

#include <pugmark/diag.h>

enum value_home_kind {
	HOME_OUTSIDE,  /* the instruction is not in the block that declares the variable */
	HOME_NOWHERE,  /* optimized out, or computed from others: nothing can be watched */
	HOME_FRAME,    /* @at bytes from the CFA */
	HOME_REGISTER, /* @at: its number in DWARF */
};
struct value_home {
	uint64_t pc; /* ELF address; of an empty place 0 */
	int64_t at;
	uint8_t kind;
};

/* One declaration of the variable in one function that has code; a function that is inlined
 * elsewhere, or of which there are several, has more. */
struct value_local {
	struct value_vars *vars;
	Dwarf_Die function;	/* whose frame it is in */
	Dwarf_Die scope;	/* of it: where the variable is visible */
	Dwarf_Die die;		/* the variable */
	struct value_part part; /* what is watched of it: type, first byte and bits */
	uint64_t len;		/* bytes of that */
	uint64_t bias;
	struct value_home *homes; /* by address, found so far: a table of @n_homes */
	uint32_t n_homes, used_homes;
};
struct value_locals {
	struct value_local *at;
	uint32_t n, max;
	struct value_static fixed; /* the variable is static in the function: */
	bool is_fixed;
};

/* Adds those that are called @path's name in the functions of one module that are called
 * @function; @path's pointers are not followed. -ENOENT: there is none, and @has names those that
 * the functions have (to be freed, NULL if there is no such function); or -EINVAL with @why. */
int value_locals_find(struct value_vars *vars, uint64_t bias, const char *function,
		      const char *path, struct value_locals *out, char **has,
		      struct value_path_why *why);
void value_locals_deinit(struct value_locals *locals);
/* Where it is when the instruction at the ELF address @pc is next. */
struct value_home value_local_home(struct value_local *local, uint64_t pc);

#endif
