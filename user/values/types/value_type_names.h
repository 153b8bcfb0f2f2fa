/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_type_names.h: what a type is called, as C writes it: "struct point *", "const char [8]". */
#ifndef USER_VALUE_TYPE_NAMES_H
#define USER_VALUE_TYPE_NAMES_H

#include <elfutils/libdw.h>
#include <stdio.h>

/* That of the variable or function @die; "void" where it has none. */
void value_type_name(FILE *out, Dwarf_Die *die);

#endif
