/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_scalars.h: numbers, enumerations and pointers, by their types in DWARF, as gdb prints them:
 * "~" behind what is assumed, "?" in place of what is not known. */
#ifndef USER_VALUE_SCALARS_H
#define USER_VALUE_SCALARS_H

#include "user/values/types/value_bytes.h"
#include "user/values/types/value_die.h"

#include <stdio.h>

/* A scalar of that plain type. Returns its quality. */
uint8_t value_scalar_print(FILE *out, Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			   struct value_bits bits, struct value_memory *memory);
/* What the enumerator @name (NAME, TYPE::NAME or NAMESPACE::TYPE::NAME) of the enumeration @type
 * is; of a bool true and false. False: there is none. */
bool value_enumerator(Dwarf_Die *type, const char *name, long double *out);
/* A number of up to eight bytes, and whether it is a floating one, then in @real. Returns its
 * quality; unknown as well where the type is no such. */
uint8_t value_scalar_number(Dwarf_Die *type, const struct value_bytes *v, uint64_t off,
			    struct value_bits bits, struct value_memory *memory, int64_t *out,
			    long double *real, bool *is_real, bool *is_unsigned);

#endif
