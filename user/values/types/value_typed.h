/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_typed.h: a value as an object of JSON: "type", "value" and how well it is known. */
#ifndef USER_VALUE_TYPED_H
#define USER_VALUE_TYPED_H

#include "user/values/types/value_types.h"

/* Prints "type":...,"value":...,"exactness":... of the variable or function @die, without braces.
 * @value NULL: there is none, and @quality says why (VALUE_UNKNOWN, VALUE_NOWHERE). The exactness
 * is that of the worst part: "exact", "assumed", "unknown", or "nowhere" (optimized out). */
void value_typed_print(FILE *out, Dwarf_Die *die, const struct value_bytes *value, uint8_t quality,
		       struct value_memory *memory, const struct value_symbols *symbols);

#endif
