/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_scalars.h: numbers, enumerations, pointers and strings, by their types in DWARF, as gdb
 * prints them: "~" behind what is assumed, "?" in place of what is not known. */
#ifndef USER_VALUE_SCALARS_H
#define USER_VALUE_SCALARS_H

#include "user/values/types/value_bytes.h"

#include <elfutils/libdw.h>
#include <stdio.h>

/* The type of @die without names and qualifiers; false: it has none (void). */
bool value_plain_type(Dwarf_Die *die, Dwarf_Die *out);
/* A constant attribute of @die; @otherwise where it has none. */
uint64_t value_constant(Dwarf_Die *die, unsigned name, uint64_t otherwise);
/* In bytes; 0: not known. */
uint64_t value_type_size(Dwarf_Die *type);

/* What characters of a type are like; @width 0: it is none of characters. */
struct value_characters {
	unsigned width;	    /* bytes */
	const char *prefix; /* as in C */
};
/* Of the type of @die, which is still with its names. */
struct value_characters value_characters_of(Dwarf_Die *die);
/* The text there, up to its end or @max characters (0: no bound). */
void value_string_print(FILE *out, const struct value_bytes *v, uint64_t off, uint64_t max,
			struct value_characters chars, struct value_memory *memory);

/* Whether the text there, of an array or pointer of the plain type, is not @text: 0 or 1; -1: that
 * is not known, or it is no text. */
int value_string_compare(Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			 const char *text, struct value_memory *memory);

/* Bits of a member, from the byte that the member counts from. */
struct value_bits {
	uint64_t first, n; /* @n 0: all bytes of the type */
};
/* Those of a member that lies @at bytes into its struct, from the struct's first byte on. */
struct value_bits value_bits_of(Dwarf_Die *member, uint64_t at);
/* A scalar of that plain type. Returns its quality. */
uint8_t value_scalar_print(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			   struct value_bits bits, struct value_memory *memory);
/* What the enumerator @name (NAME, or TYPE::NAME) of the enumeration @type is. False: there is
 * none. */
bool value_enumerator(Dwarf_Die *type, const char *name, long double *out);
/* A number of up to eight bytes, and whether it is a floating one, then in @real. Returns its
 * quality; unknown as well where the type is no such. */
uint8_t value_scalar_number(Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			    struct value_bits bits, struct value_memory *memory, int64_t *out,
			    long double *real, bool *is_real, bool *is_unsigned);

#endif
