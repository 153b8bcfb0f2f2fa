/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_types.h: bytes printed as what DWARF says that they are. */
#ifndef USER_VALUE_TYPES_H
#define USER_VALUE_TYPES_H

#include "user/values/types/value_paths.h"

enum value_form {
	VALUE_AS_TEXT, /* on one line, as gdb does */
	VALUE_AS_JSON, /* structs are objects, arrays lists, all else strings as in the text */
};

/* Names of functions by the run-time addresses where they begin. */
struct value_symbols {
	const char *(*name)(void *ctx, uint64_t addr); /* NULL: none begins there */
	void *ctx;
};

/* Prints it as the type of @die, a variable or what it is of. Returns the worst quality of what was
 * printed; of a text that a pointer leads to the pointer's. Behind pointers to functions stands
 * what @symbols (NULL: nothing) calls these. */
uint8_t value_type_print(FILE *out, Dwarf_Die *die, const struct value_bytes *value,
			 struct value_memory *memory, const struct value_symbols *symbols,
			 enum value_form form);

/* The same of a part of a variable, with its type. */
void value_part_print(FILE *out, const struct value_part *part, struct value_memory *memory,
		      enum value_form form);

#endif
