/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_types.h: bytes printed as what DWARF says that they are. */
#ifndef USER_VALUE_TYPES_H
#define USER_VALUE_TYPES_H

#include "offline/eval/memory.h"

#include <elfutils/libdw.h>
#include <stdio.h>

enum { VALUE_IN_REGISTER, VALUE_IN_MEMORY };

/* A value: its bytes with their qualities, or where it lies. */
struct value_bytes {
	int place;
	uint64_t addr;
	uint8_t bytes[16], quality[16], len;
	uint8_t reg; /* VALUE_IN_REGISTER: 1 and its number, general ones first; 0: it is in none */
};

/* Prints it as the type of @die, a variable or what it is of. */
void value_type_print(FILE *out, Dwarf_Die *die, const struct value_bytes *value,
		      struct value_memory *memory);
/* As a number, if it is an integer, a pointer, an enumeration or a bool, and known. */
bool value_type_number(Dwarf_Die *die, const struct value_bytes *value, struct value_memory *memory,
		       int64_t *out);
bool value_type_is_real(Dwarf_Die *die);

#endif
