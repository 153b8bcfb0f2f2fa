/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_strings.h: characters and strings, as gdb prints them. */
#ifndef USER_VALUE_STRINGS_H
#define USER_VALUE_STRINGS_H

#include "user/values/types/value_bytes.h"

#include <elfutils/libdw.h>
#include <stdio.h>

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

/* Behind the number @c, of the base type @type: the character that it is, as gdb has it. Nothing
 * where the type is none of wide characters. */
void value_wide_print(FILE *out, Dwarf_Die *type, uint32_t c);

/* Whether the text there, of an array or pointer of the plain type, is @text, in *@is. Returns the
 * quality of what says so; unknown as well where the type is no text's. */
uint8_t value_string_is(Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			const char *text, struct value_memory *memory, bool *is);

#endif
