/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_vars.h: the variables that DWARF names at an instruction, and their values in a state of a
 * replay, printed by their types as gdb does: what is assumed has a "~" behind it, what is not
 * known is "?". */
#ifndef USER_VALUE_VARS_H
#define USER_VALUE_VARS_H

#include "offline/replay/replay.h"
#include "user/values/types/value_paths.h"
#include "user/values/dwarf/value_scopes.h"
#include "user/values/types/value_types.h"

#include <stdio.h>

struct value_vars;

/* Of the file at @path. NULL: it has no DWARF, or memory is out. */
struct value_vars *value_vars_open(const char *path);
void value_vars_free(struct value_vars *vars);
/* What functions are called that pointers lead to, from now on. */
void value_vars_symbols(struct value_vars *vars, struct value_symbols symbols);
/* The functions of it, and what is declared in them; valid as long as @vars is. */
struct value_scopes *value_vars_scopes(struct value_vars *vars);
/* Tells @fn of the ELF address of each place where the function @name was inlined, until it does
 * not return 0; returns that. @told: DWARF says that it is entered there, which is else its lowest
 * address. */
typedef int value_vars_address_fn(void *ctx, uint64_t addr, bool told);
int value_vars_inlined(struct value_vars *vars, const char *name, value_vars_address_fn *fn,
		       void *ctx);
/* Which of them. */
enum value_vars_what { VARS_ARGUMENTS, VARS_ALL };
/* Prints those that are visible at the ELF address @addr as "name=value, ...", for a module whose
 * ELF address 0 is at @bias. Returns how many; 0 where nothing is known of that function. */
uint32_t value_vars_print(struct value_vars *vars, FILE *out, uint64_t addr, uint64_t bias,
			  enum value_vars_what what, struct value_machine *m);
/* The same as a list of JSON: an object of each, with its name and what value_typed.h has. */
void value_vars_json(struct value_vars *vars, FILE *out, uint64_t addr, uint64_t bias,
		     enum value_vars_what what, struct value_machine *m);
/* The result of the function at @addr, by its type (VALUE_AS_JSON: an object, as value_typed.h has
 * it), in the state behind its call. False: it returns
 * nothing; @*known false: nothing is known of it, and nothing is printed. */
bool value_vars_result(struct value_vars *vars, FILE *out, uint64_t addr, struct value_machine *m,
		       enum value_form form, bool *known);
/* Where a variable is: @len bytes of memory, or of a register (by number of the encoding). */
struct value_variable {
	bool memory, vector;
	uint8_t reg;
	uint64_t addr, len;
	uint32_t of; /* it is nowhere itself: DWARF computes it of these general registers, a bit
		      * each; 0: it is there */
};
enum value_vars_found {
	VARS_FOUND,
	VARS_NO_SUCH,
	VARS_NOWHERE,  /* optimized out there */
	VARS_CONSTANT, /* DWARF has its value, which is computed of nothing */
	VARS_NOT_TOLD, /* nor how it is made of registers */
};
/* The variable @name there; @out is filled if it is found. */
enum value_vars_found value_vars_find(struct value_vars *vars, const char *name, uint64_t addr,
				      uint64_t bias, struct value_machine *m,
				      struct value_variable *out);
/* The variable, or part of one, that @path says (value_paths.h). False: it is not there, or nothing
 * is known of where it is. */
bool value_vars_part(struct value_vars *vars, const char *path, uint64_t addr, uint64_t bias,
		     struct value_machine *m, struct value_part *out);

#endif
