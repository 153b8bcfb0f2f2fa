/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_die.h: what DWARF says of a type: its size, its constants, the bits of a member. */
#ifndef USER_VALUE_DIE_H
#define USER_VALUE_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* The type of @die without names and qualifiers; false: it has none (void). */
bool value_plain_type(Dwarf_Die *die, Dwarf_Die *out);
/* A constant attribute of @die; @otherwise where it has none. */
uint64_t value_constant(Dwarf_Die *die, unsigned name, uint64_t otherwise);
/* How many elements a dimension of an array has, a subrange, in *@n. Where it has an upper bound
 * alone the lower one is that of the language: 1 in Fortran. False: not known. */
bool value_dimension(Dwarf_Die *subrange, uint64_t *n);
/* Whether that tag is of pointers or references. */
bool value_is_pointer(int tag);
/* In bytes; 0: not known. */
uint64_t value_type_size(Dwarf_Die *type);

/* Bits of a member, from the byte that the member counts from. */
struct value_bits {
	uint64_t first, n; /* @n 0: all bytes of the type */
};
/* Those of a member that lies @at bytes into its struct, from the struct's first byte on. */
struct value_bits value_bits_of(Dwarf_Die *member, uint64_t at);
#endif
